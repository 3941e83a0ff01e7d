// Loaded by the build before the program, in each thread: keeps the code that the thread has compiled of its bundle, once the build asks
// for that by a file beside it.
const { existsSync, renameSync, writeFileSync } = require('node:fs')
const { dirname, join } = require('node:path')
const vm = require('node:vm')
const { threadId } = require('node:worker_threads')

const look_ms = 20

vm.Script = class extends vm.Script {
  constructor(source, options) {
    super(source, options)
    const { filename } = options
    const looking = setInterval(() => {
      if (!existsSync(join(dirname(filename), 'keep'))) return
      clearInterval(looking)
      // Several threads may run the same bundle.
      const draft = `${filename}.${threadId}`
      writeFileSync(draft, this.createCachedData())
      renameSync(draft, `${filename}.code`)
    }, look_ms).unref()
  }
}
