import { setImmediate as nextTurn } from 'node:timers/promises'
import { threadId } from 'node:worker_threads'
import { Piscina } from 'piscina'
import type { PartitionReaders } from '../src/broker/front-end/partition-readers.js'
import { PoolThreads } from '../src/broker/front-end/pool-threads.js'
import type { Scanned, ScanTask } from '../src/broker/front-end/query-pool.js'
import { ScanStops } from '../src/broker/front-end/scan-queue.js'
import { DamagedRecord } from '../src/faults.js'
import type { QueryRefusal } from '../src/model/context/query.js'
import { Measures } from '../src/observe/measure/measures.js'
import type { HandleTimes, HandleWait } from '../src/observe/measure/slow-requests.js'
import type { Result } from '../src/result.js'
import { openReaders } from '../src/runtime/readers.js'
import type { QueryThreadData } from '../src/runtime/tasks.js'
import { giveWay } from '../src/threads/priority.js'

/** Scans yield the processors to updates and other requests. */
const scanPriority = 15

const data: QueryThreadData = Piscina.workerData
const members = new PoolThreads(data.members)
const number = members.enter(threadId)
const stops = new ScanStops(data.stops)
const measures = new Measures(data.memory.measures, data.row + number)
const readers = opened(data)
// Node still works on a module after running it: the program counts as loaded only then.
setImmediate(() => members.loaded(number))

/** Ends a scan without a waiting caller, or one that has used up its slices. */
const stopped = new Error('the scan was stopped')

/** The number of scans in this thread that are short, or not yet known to be long. */
let trials = 0

/** How many slices a long scan grants short ones before its next one. */
const courtesy = 4

/** A query thread's task: one scan. Its fault is a result, so that the caller does not take it for the end of the thread. */
export default async function query(task: ScanTask): Promise<Scanned> {
  const trial = task.slices === undefined ? 0 : 1
  trials += trial
  try {
    if (!task.isTimed) return await found(task, undefined)
    const handles: HandleWait[] = []
    const result = await found(task, { handle: (wait) => handles.push(wait) })
    return { ...result, handles }
  } catch (fault) {
    // Another thread would get the error without its class.
    if (fault instanceof DamagedRecord) return { damage: fault.message }
    return fault === stopped ? undefined : { fault }
  } finally {
    trials -= trial
  }
}

async function found(task: ScanTask, times: HandleTimes | undefined): Promise<Result<unknown, QueryRefusal>> {
  if (stops.isStopped(task.permit)) throw stopped
  const { steps } = measures
  const pause = pauses(task)
  let since = steps.begin()
  const giveWay = async (): Promise<void> => {
    if (steps.isLong(since)) steps.name(`slice of a scan (${task.kind})`, 0)
    await pause()
    since = steps.begin()
  }
  const limits = { page_bytes: data.page_bytes, giveWay }
  switch (task.kind) {
    case 'page':
      return readers.query(task.query, limits, times)
    case 'state':
      return readers.state(task.query, limits)
    case 'types':
      return readers.types(task.tenant, task.paths, task.isDetailed, limits, times)
    case 'view':
      return readers.view(task.view, limits, times)
  }
}

/** The pause of a scan between its slices: lets others run, short ones first, and checks whether to go on. */
function pauses({ permit, slices }: ScanTask): () => Promise<void> {
  let pauses = 0
  return async () => {
    pauses += 1
    await nextTurn()
    for (let turns = 1; slices === undefined && trials > 0 && turns < courtesy; turns += 1) await nextTurn()
    if (pauses === slices || stops.isStopped(permit)) throw stopped
  }
}

function opened({ storage, memory }: QueryThreadData): PartitionReaders {
  giveWay(scanPriority)
  measures.watchThread()
  return openReaders(storage, memory, measures, 0)
}
