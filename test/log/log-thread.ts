import { workerData } from 'node:worker_threads'
import { workerLog } from '../../src/observe/log/worker-log.js'
import { Switches } from '../../src/threads/shared-memory/switches.js'

/** A thread that logs in several turns of its event loop. */
const { port, memory, lines } = workerData
const log = workerLog(port, new Switches(memory), 3)

for (let number = 0; number < lines; number += 1) {
  log.info('thread', `line ${number}`, { n: number })
  if (number % 300 === 0) await new Promise(setImmediate)
}
log.flush()
