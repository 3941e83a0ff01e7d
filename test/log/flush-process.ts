import { writeSync } from 'node:fs'
import sonicBoom from 'sonic-boom'

/** A process that flushes a line to its standard output when its standard input says so, and then ends. */
const sonic = new sonicBoom.SonicBoom({ dest: 1, minLength: 100, retryEAGAIN: () => false })
writeSync(2, 'started\n')
process.stdin.once('data', () => {
  sonic.write('line\n')
  writeSync(2, 'flushing\n')
  sonic.flushSync()
  process.exit()
})
