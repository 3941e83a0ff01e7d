import { parentPort, workerData } from 'node:worker_threads'
import { UnsyncedEnvironment } from './given-checkpoints.js'

/**
 * A thread that writes to an environment and takes checkpoints, until it is told how to end. It says the transactions that
 * LMDB keeps then.
 */
const environment = new UnsyncedEnvironment(String(workerData))
environment.turn()
environment.checkpoints.takeSync('of the thread')
for (let n = 0; n < 10; n += 1) environment.turn()
// One that is under way has a pin of its own.
void environment.checkpoints.take('under way')
environment.turn()

const deaths: Readonly<Record<string, () => void>> = {
  throw: () => {
    throw new Error('ended by the test')
  },
  exit: () => process.exit(9),
  'run out of memory': () => {
    for (const held: unknown[] = []; ; ) held.push(new Array(1e6).fill(held.length + 0.5))
  },
}
parentPort?.on('message', (death: string) => deaths[death]?.())
parentPort?.postMessage(environment.kept)
