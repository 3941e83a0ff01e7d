import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads'
import { ThreadBeats } from '../threads/shared-memory/thread-beats.js'

export interface StartWatchTask {
  /** One row, which the main thread writes. */
  readonly beats: SharedArrayBuffer
  readonly silence_s: number
  /** Its first message ends the thread. */
  readonly control: MessagePort
}

/** Watches the main thread from before it opens the data folder until the courier watches it. */
export interface StartWatch {
  /** Marks progress of a step that keeps the main thread from its event loop: looking at a large file takes long. */
  goesOn(): void
  end(): void
}

/**
 * Starts a thread that watches the calling one (the main thread) and ends the process when it stands still for so long;
 * 0: never. The main thread opens the data folder before any other thread runs, and the disk may not answer.
 *
 * @param failed called when that thread cannot watch any more: the start goes on without it
 */
export function watchStart(silence_s: number, failed: (fault: unknown) => void): StartWatch {
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
  watcher.on('error', (fault) => {
    stopBeating()
    port1.close()
    failed(fault)
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
