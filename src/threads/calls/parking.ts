import type { MessagePort } from 'node:worker_threads'
import { onMessages } from './messages.js'

/**
 * Has a thread sleep for good when it is told so by a port that it was handed, after what it has begun has come to its end. Node
 * aborts the whole process when it ends a thread inside a native module, LMDB for one: at the end of the process all threads that
 * may be there sleep, or are over. To be called first of all in the thread.
 */
export function parkWhenTold(port: MessagePort, ending: () => Promise<void> = async () => {}): void {
  onMessages(port, async () => {
    await ending()
    port.postMessage('parked')
    // A message is sent before the next line is reached.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)), 0, 0)
  })
  port.unref()
}
