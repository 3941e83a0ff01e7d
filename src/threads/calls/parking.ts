import type { MessagePort } from 'node:worker_threads'
import { onMessages } from './messages.js'

/**
 * Makes a thread sleep for good when it is told so on a port, once `ending` has resolved. Node aborts the whole process when it
 * ends a thread inside a native module such as LMDB, so at the end of the process all threads that may be there sleep or have
 * ended. Call it first of all in the thread.
 */
export function parkWhenTold(port: MessagePort, ending: () => Promise<void> = async () => {}): void {
  onMessages(port, async () => {
    await ending()
    port.postMessage('parked')
    // The message is sent before the next line runs.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)), 0, 0)
  })
  port.unref()
}
