// Loaded by the build before the program, in each thread: keeps the code that the thread has compiled of its bundle, once the build asks
// for that by a file beside it. Until then the file of the thread is empty.
const { existsSync, renameSync, writeFileSync } = require('node:fs')
const { dirname, join } = require('node:path')
const vm = require('node:vm')
const { threadId } = require('node:worker_threads')

const look_ms = 20

vm.Script = class extends vm.Script {
  constructor(source, options) {
    super(source, options)
    const { filename } = options
    const path = `${filename}.${threadId}.code`
    writeFileSync(path, '')
    const looking = setInterval(() => {
      if (!existsSync(join(dirname(filename), 'keep'))) return
      clearInterval(looking)
      writeFileSync(`${path}.draft`, this.createCachedData())
      renameSync(`${path}.draft`, path)
    }, look_ms).unref()
  }
}
