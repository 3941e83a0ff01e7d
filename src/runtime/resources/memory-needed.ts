import type { Options } from '../../flags/settings.js'
import { memtable_bytes } from '../../storage/store/memtable.js'

/** The flags that bound the broker's memory. */
type MemoryFlags = Pick<
  Options,
  | 'httpThreads'
  | 'queryThreads'
  | 'readCache_MiB'
  | 'entityCache_MiB'
  | 'requestMemory_MiB'
  | 'responseMemory_MiB'
  | 'pageMaxSize'
> & { readonly notifications: Pick<Options['notifications'], 'memory_MiB'> & WaitingFlags }

/** The flags that bound what waits, and what was sent on streams and is not confirmed. */
type WaitingFlags = Pick<Options['notifications'], 'window_MiB' | 'queueMax_MB'> & {
  readonly streams: Pick<Options['notifications']['streams'], 'listeners'>
}

interface MemoryNeeded {
  /** The process, without the pages of the mapped data files, which the system reclaims when it needs them. */
  readonly process_MiB: number
  /** The part of it that the heap of the main thread must hold, where the first front end runs. */
  readonly mainHeap_MiB: number
}

/** The process with its program, and the fixed cost of each thread. */
const process_MiB = 128
const thread_MiB = 96

/**
 * Compiled expressions that a thread caches beyond those of subscriptions in force, and the regular expressions of all
 * of them.
 */
export const expressions_MiB = 4
const templates_MiB = 2 * expressions_MiB

/** What the courier caches of the changes that notifications show. */
export const shownChanges_MiB = 16

/** What a partition shares with other threads before LMDB has it. */
const memtable_MiB = Math.ceil(memtable_bytes / 2 ** 20)

/** A heap is larger than its live objects: garbage is collected late. */
const garbage = 1.5

/** While a body is read it takes up to three times its size: as bytes, as text and parsed. */
const perRequestByte = 3

/** A notification that is being sent is held as text, and as bytes outside of the heap. */
const perSentCharacter = 2
const perSentByte = perSentCharacter + 1

/** Scans that a query thread has under way; each holds its page twice, as records and on its way to the front end. */
const scansPerThread = 4
const pagesPerThread = scansPerThread * 2

/**
 * The most memory that the broker needs with these flags and this number of partitions. Subscriptions and
 * registrations, which have their own limits, come on top.
 */
export function memoryNeeded(flags: MemoryFlags, partitions: number): MemoryNeeded {
  const { httpThreads, queryThreads, readCache_MiB, entityCache_MiB, requestMemory_MiB, responseMemory_MiB } = flags
  const allQueryThreads = httpThreads * queryThreads
  const threads = httpThreads + partitions + allQueryThreads + 1
  const pages_MiB = (allQueryThreads * pagesPerThread * flags.pageMaxSize) / 2 ** 20
  const shared_MiB = perRequestByte * requestMemory_MiB + responseMemory_MiB
  const sent_MiB = perSentByte * flags.notifications.memory_MiB
  const caches_MiB =
    httpThreads * readCache_MiB + partitions * entityCache_MiB + (partitions + 2) * templates_MiB + shownChanges_MiB
  const held_MiB = caches_MiB + shared_MiB + pages_MiB + sent_MiB + waiting_MiB(flags.notifications)
  return {
    process_MiB: Math.ceil(process_MiB + threads * thread_MiB + partitions * memtable_MiB + garbage * held_MiB),
    mainHeap_MiB: Math.ceil(thread_MiB + garbage * (readCache_MiB + templates_MiB + shared_MiB)),
  }
}

/** The flags that determine the heaps of replaceable threads. */
type HeapFlags = Pick<Options, 'entityCache_MiB' | 'requestMemory_MiB' | 'pageMaxSize'> & {
  readonly notifications: Pick<Options['notifications'], 'subscriptionsMax' | 'memory_MiB'> & WaitingFlags
}

/** The heap limits of threads, in MiB. A thread that exceeds its limit ends alone and is replaced. */
export interface ThreadHeaps {
  readonly partition_MiB: number
  readonly query_MiB: number
  readonly courier_MiB: number
}

/** A heap limit is this many times the computed need, so that no thread ends that does what its flags allow. */
const spare = 2

/** The most heap that a subscription of 1 KiB on disk takes in a thread. */
const subscription_KiB = 3

/** The notices in memory for each MiB of the window: with the queue of its ordering key one was measured to take 1,460 bytes, and 1,660 with an id of 225. */
export const heldPerMiB = 512

/** The most notices that may wait for each MB of the limit: a notice takes memory however small it is. */
export const noticesPerMB = 1024

/** Of a notice that waits beyond the window its number is kept, as its distance from the one before it. */
const perNumber_bytes = 4

/**
 * What waits: the window, and the numbers of the others. What was sent on streams and is not confirmed may be as much as the window, beside
 * the shares of the listeners, which are another window together, or one notice of each.
 */
function waiting_MiB({ window_MiB, queueMax_MB, streams }: WaitingFlags): number {
  const streamed_MiB = window_MiB + Math.max(window_MiB, Math.ceil(streams.listeners / heldPerMiB))
  return window_MiB + Math.ceil((queueMax_MB * noticesPerMB * perNumber_bytes) / 2 ** 20) + streamed_MiB
}

/** The heap limits, none above `most_MiB`, which is what Node lets a heap grow to. */
export function threadHeaps(flags: HeapFlags, most_MiB: number): ThreadHeaps {
  const { entityCache_MiB, requestMemory_MiB, pageMaxSize, notifications } = flags
  const subscriptions_MiB = (subscription_KiB * notifications.subscriptionsMax) / 2 ** 10
  const commands_MiB = perRequestByte * requestMemory_MiB
  const pages_MiB = (scansPerThread * pageMaxSize) / 2 ** 20
  const limit = (held_MiB: number, more_MiB = 0): number =>
    Math.min(Math.ceil(spare * (thread_MiB + garbage * held_MiB) + more_MiB), most_MiB)
  return {
    partition_MiB: limit(entityCache_MiB + templates_MiB + commands_MiB, subscriptions_MiB),
    query_MiB: limit(pages_MiB),
    // Subscriptions of both kinds.
    courier_MiB: limit(
      perSentCharacter * notifications.memory_MiB + templates_MiB + shownChanges_MiB + waiting_MiB(notifications),
      2 * subscriptions_MiB,
    ),
  }
}

/** The available memory in MiB: that of the machine or container, and the most that Node lets a heap grow to. */
interface MemoryThereIs {
  readonly process_MiB: number
  readonly heap_MiB: number
}

/** One warning for each limit that exceeds the available memory; empty when there is enough. */
export function memoryWarnings(needed: MemoryNeeded, thereIs: MemoryThereIs): readonly string[] {
  const remedy =
    'lower -readCache, -entityCache, -requestMemory, -answerMemory, -notifMemory, -notifWindow, -pageMaxSize or the numbers of threads'
  const warnings: string[] = []
  if (needed.process_MiB > thereIs.process_MiB) {
    warnings.push(
      `the flags allow ${needed.process_MiB} MiB of memory, there are ${thereIs.process_MiB} MiB: ${remedy}`,
    )
  }
  if (needed.mainHeap_MiB > thereIs.heap_MiB) {
    const heap = `the flags allow ${needed.mainHeap_MiB} MiB in the heap of the main thread, Node allows ${thereIs.heap_MiB} MiB`
    warnings.push(`${heap}: ${remedy}, or start Node with a larger --max-old-space-size`)
  }
  return warnings
}
