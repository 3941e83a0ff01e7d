import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { test } from 'tap'
import { PinGate } from '../../src/threads/shared-memory/signals.js'

/** A thread that comes to a gate, and says when it has come and when it goes on. */
function waiting(gate: PinGate, limit_ms: number): Worker {
  const module = new URL('../../src/threads/shared-memory/signals.js', import.meta.url).href
  const program = `
    import { parentPort, workerData } from 'node:worker_threads'
    const { PinGate } = await import(${JSON.stringify(module)})
    parentPort.postMessage('there')
    new PinGate(workerData.memory).wait(workerData.limit_ms)
    parentPort.postMessage('gone on')
  `
  return new Worker(new URL(`data:text/javascript,${encodeURIComponent(program)}`), {
    workerData: { memory: gate.memory, limit_ms },
  })
}

test('all threads wait until the gate is opened', async (t) => {
  const gate = new PinGate()
  const threads = [waiting(gate, 60_000), waiting(gate, 60_000)]
  t.same(await Promise.all(threads.map((thread) => once(thread, 'message'))), [['there'], ['there']])
  t.same(await gate.haveCome(2, 60_000), { ok: true, value: undefined })
  t.same(await gate.haveCome(3, 1), { ok: false, error: 'notTogether' })
  const ends = Promise.all(threads.map((thread) => once(thread, 'message')))
  t.ok(gate.open(), 'nobody has given up')
  t.same(await ends, [['gone on'], ['gone on']])
})

test('a thread that waits too long goes on, and the moment is lost for all', async (t) => {
  const gate = new PinGate()
  const threads = [waiting(gate, 60_000), waiting(gate, 20)]
  const received = threads.map((thread) => {
    const texts: unknown[] = []
    thread.on('message', (text) => texts.push(text))
    return texts
  })
  await Promise.all(threads.map((thread) => once(thread, 'exit')))
  t.same(received, [
    ['there', 'gone on'],
    ['there', 'gone on'],
  ])
  t.notOk(gate.open())
})
