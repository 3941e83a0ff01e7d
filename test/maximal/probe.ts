import { mkdirSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { monitorEventLoopDelay, PerformanceObserver } from 'node:perf_hooks'
import { threadId } from 'node:worker_threads'

/**
 * Measures, inside a broker, how long its threads are held: `node --import` loads it into the main thread and every other
 * one. Each listens on a socket named after its number in the folder of `RIGEL_PROBE`, and tells whoever connects what it
 * has measured since the last time.
 */
const folder = process.env['RIGEL_PROBE']
if (folder !== undefined) watch(folder)

function watch(folder: string): void {
  const delays = monitorEventLoopDelay({ resolution: 1 })
  delays.enable()
  let collection_ms = 0
  const collections = new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) collection_ms = Math.max(collection_ms, duration)
  })
  collections.observe({ entryTypes: ['gc'] })
  mkdirSync(folder, { recursive: true })
  const path = join(folder, `${threadId}`)
  rmSync(path, { force: true })
  const server = createServer((socket) => {
    // The hold in which this was asked for is counted when its turn is over.
    setTimeout(() => {
      socket.on('error', () => {})
      socket.end(JSON.stringify({ thread: threadId, hold_ms: delays.max / 1e6, collection_ms }))
      delays.reset()
      collection_ms = 0
    }, 5)
  })
  server.listen(path)
  server.unref()
}
