#!/usr/bin/env node
try {
  const { start } = await import('./runtime/program.js')
  await start(process.argv.slice(2), process.env)
} catch (fault) {
  // Not even the files of the program can be read: imported up here, they would end it with a stack and nothing to do.
  const reason = fault instanceof Error ? fault.message : String(fault)
  const advice = ' (if its files are there: it may have too few open files, see ulimit -n)'
  process.stderr.write(`Rigel cannot start: ${reason}${advice}\n`, () => process.exit(70))
}
