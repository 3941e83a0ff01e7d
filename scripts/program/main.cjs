#!/usr/bin/env node
// How many threads flush files, look up names and read files, unless the operator says: one for the checkpoint of each partition that
// flushes at the same moment, and some for all else. They read it when the first of them begins.
process.env.UV_THREADPOOL_SIZE ??= '64'

/** All files of the program are read in here: if that fails, there is no stack in place of what to do. */
async function run() {
  const { start } = await require('./load.cjs')('program')
  await start(process.argv.slice(2), process.env)
}

run().catch(({ message }) => {
  const [reason] = message.split('\n')
  const advice = ' (if its files are there: it may have too few open files, see ulimit -n)'
  process.stderr.write(`Rigel cannot start: ${reason}${advice}\n`, () => process.exit(70))
})
