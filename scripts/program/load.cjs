// Runs a bundle of the program in the calling thread, and gives what it exports. Node would compile each function when it is called
// first, in each thread and at each start; the build has kept what came of that.
const { existsSync, readFileSync, statSync } = require('node:fs')
const { createRequire } = require('node:module')
const { dirname, join } = require('node:path')
const { Script } = require('node:vm')

/**
 * The compiled code of a bundle, as far as it is there and younger. V8 takes it only from its own version with the same flags, and compiles
 * the source otherwise.
 */
function compiledCodeOf(path) {
  const code = `${path}.code`
  return existsSync(code) && statSync(code).mtimeMs >= statSync(path).mtimeMs ? readFileSync(code) : undefined
}

module.exports = function load(name) {
  const path = join(__dirname, 'bundles', `${name}.cjs`)
  const script = new Script(readFileSync(path, 'utf8'), {
    filename: path,
    cachedData: compiledCodeOf(path),
  })
  const bundle = { exports: {} }
  // Code that was compiled before can not import modules by itself.
  const importModule = ({ href }) => import(href)
  script.runInThisContext()(bundle.exports, createRequire(path), bundle, path, dirname(path), importModule, load)
  return bundle.exports
}
