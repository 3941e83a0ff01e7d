import { parentPort, workerData } from 'node:worker_threads'
import { Memtable } from '../../src/storage/store/memtable.js'
import { PartitionStore } from '../../src/storage/store/partition-store.js'
import { Versions } from '../../src/threads/shared-memory/versions.js'
import { storeSettings } from '../given.js'
import { notice } from '../given-subscription.js'

export interface NoticesTask {
  readonly folder: string
  readonly memory: SharedArrayBuffer
  /** How many notices are made, one in a turn. */
  readonly notices: number
}

/** A thread that makes notices, each with its number as its body, while LMDB follows now and then. */
if (parentPort !== null && workerData !== null) {
  const { folder, memory, notices } = workerData as NoticesTask
  const deferral = { memtable: new Memtable(memory), versions: new Versions(Versions.memory()) }
  const store = new PartitionStore(folder, { ...storeSettings, durable: false }, { deferral })
  parentPort.postMessage('open')
  for (let number = 1; number <= notices; number += 1) {
    store.commit({ entities: [], notices: [notice({ body: `body ${number}` })], acks: [] })
    if (number % 17 === 0) store.applyPublished()
  }
  // LMDB has the last ones when the next turns are applied, or never.
  setInterval(() => {}, 1000)
}
