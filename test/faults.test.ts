import { once } from 'node:events'
import { MessageChannel, Worker } from 'node:worker_threads'
import { test } from 'tap'
import { BehindLog, DiskFault, isBehind, isDiskFault, isGivenUp, LogGivenUp } from '../src/faults.js'

const classes = [
  [new BehindLog('a record was forgotten'), isBehind],
  [new DiskFault('the disk is gone'), isDiskFault],
  [new LogGivenUp('the process ends'), isGivenUp],
] as const

test('a fault is known by its class here, and when a message has brought it', async (t) => {
  const { port1, port2 } = new MessageChannel()
  t.teardown(() => port1.close())
  for (const [fault, is] of classes) {
    t.ok(is(fault))
    port1.postMessage(fault)
    const [crossed] = await once(port2, 'message')
    t.ok(is(crossed), fault.name)
    for (const [, isOther] of classes) t.equal(isOther(crossed), isOther === is)
  }
  t.notOk(isBehind(new Error('BehindLog: a record was forgotten')))
})

test('a fault is known by its class when a thread has ended of it', async (t) => {
  const thread = new Worker(
    "class DiskFault extends Error { name = 'DiskFault' }; setImmediate(() => { throw new DiskFault('gone') })",
    { eval: true },
  )
  const [fault] = await once(thread, 'error')
  t.ok(isDiskFault(fault))
  t.notOk(isBehind(fault))
})
