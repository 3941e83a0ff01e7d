import { Piscina } from 'piscina'
import type { PartitionReaders } from '../src/coordinator/partition-readers.js'
import type { QueryTask } from '../src/coordinator/query-pool.js'
import { ThreadsStarted } from '../src/coordinator/threads-started.js'
import type { Unavailable } from '../src/coordinator/unavailable.js'
import { Measures } from '../src/measure/measures.js'
import { granted, type Outcome } from '../src/outcome.js'
import { giveWay } from '../src/priority.js'
import { openReaders } from '../src/read-sides.js'
import type { QueryThreadData } from '../src/tasks.js'

/** Scans use what updates and other requests leave of the processors. */
const scanPriority = 15

const data: QueryThreadData = Piscina.workerData
const started = new ThreadsStarted(data.started)
const readers = opened(data)
// Node has something left to do with a module when it has run: only then is the program loaded.
setImmediate(() => started.loaded())

/** A query thread's task: one scan. */
export default async function query(task: QueryTask): Promise<Outcome<unknown, Unavailable>> {
  const limits = { page_bytes: data.page_bytes }
  switch (task.kind) {
    case 'page':
      return readers.query(task.query, limits)
    case 'state':
      return readers.state(task.query, limits)
    case 'types':
      return granted(await readers.types(task.tenant, task.paths))
  }
}

function opened({ storage, memory, row }: QueryThreadData): PartitionReaders {
  giveWay(scanPriority)
  return openReaders(storage, memory, new Measures(memory.measures, row + started.nextNumber()), 0)
}
