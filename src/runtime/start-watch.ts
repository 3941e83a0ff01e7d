import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads'
import { ThreadBeats } from '../threads/shared-memory/thread-beats.js'

/** What the thread is handed that watches the main thread while it starts the broker. */
export interface StartWatchTask {
  /** One row, which the main thread writes. */
  readonly beats: SharedArrayBuffer
  readonly silence_s: number
  /** Its first message ends the thread. */
  readonly control: MessagePort
}

/** The watch over the main thread from before it opens the data folder until the courier looks at it. */
export interface StartWatch {
  /** A step that gives way to nothing has come further: to look at a large file takes as long as it takes. */
  goesOn(): void
  end(): void
}

/**
 * Has a thread of its own watch the calling one, which is the main thread: it ends the process when that stands still for so long, 0
 * for ever. The main thread opens the data folder before any other thread has begun, and the disk may not answer.
 */
export function watchStart(silence_s: number): StartWatch {
  if (silence_s === 0) return { goesOn: () => {}, end: () => {} }
  const memory = ThreadBeats.memory(1)
  const beats = new ThreadBeats(memory)
  const stopBeating = beats.watch(0)
  const { port1, port2 } = new MessageChannel()
  port1.unref()
  const task: StartWatchTask = { beats: memory, silence_s, control: port2 }
  const watcher = new Worker(new URL('../../workers/start-watch.js', import.meta.url), {
    workerData: task,
    transferList: [port2],
  })
  watcher.unref()
  return {
    goesOn: () => beats.beat(0),
    end: () => {
      stopBeating()
      port1.postMessage('end')
    },
  }
}
