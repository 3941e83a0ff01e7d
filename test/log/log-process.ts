import { once } from 'node:events'
import { writeSync } from 'node:fs'
import { openLog } from '../../src/observe/log/main-log.js'
import { logLevels, Switches } from '../../src/threads/shared-memory/switches.js'

/** A process that logs many lines, says so on stderr, and ends when its standard input ends, with a reason if it has one. */
const switches = new Switches()
switches.set('logLevel', logLevels.indexOf('INFO'))
switches.set('lineMaxSize', 32768)
const settings = { logFormat: 'json', logForHumans: false, logDir: undefined, logAppend: false } as const
const log = openLog(settings, switches)
if (!log.ok) throw new Error(log.error.text)

for (let number = 0; number < Number(process.argv[2]); number += 1) {
  log.value.info('o', `usual ${number}`)
  if (number % 100 === 0) log.value.error('o', `error ${number}`)
  if (number % 1000 === 0) await new Promise(setImmediate)
}
writeSync(2, 'logged\n')
if (process.argv[3] === 'count') writeSync(2, `${log.value.dropped} dropped\n`)
process.stdin.resume()
await once(process.stdin, 'end')
const [, , , reason] = process.argv
if (reason !== undefined && reason !== 'count') log.value.fatal('main:end', reason)
await log.value.flush(200)
process.exit(0)
