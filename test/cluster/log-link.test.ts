import { Worker } from 'node:worker_threads'
import { type Test, test } from 'tap'
import { isDiskFault, LogSilent } from '../../src/faults.js'
import { LogLink, type LogLooks, type LogPatience, lookedAgain, newLogLink } from '../../src/storage/etcd/log-link.js'
import type { LogSequence } from '../../src/storage/wal/record-log.js'

const module = new URL('../../src/storage/etcd/log-link.js', import.meta.url).href

/** A link to a thread that serves it as the thread of the logs does, and answers; or sleeps for good when it is asked. */
async function served(t: Test, patience: LogPatience, sleeps: boolean): Promise<LogLink> {
  const { writer, server } = newLogLink(3, 'a')
  const program = `
    const { parentPort, workerData } = require('node:worker_threads')
    import('${module}').then(({ serveLogLink }) => {
      serveLogLink(workerData, async () => {
        if (${sleeps}) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
        return { first: 1, last: 7, campaign: 0 }
      })
      parentPort.postMessage('ready')
    })`
  const thread = new Worker(program, { eval: true, workerData: server, transferList: [server.port] })
  const link = new LogLink(writer, patience)
  t.teardown(async () => {
    link.close()
    await thread.terminate()
  })
  await new Promise((resolve) => thread.once('message', resolve))
  return link
}

test('a writer sleeps while the thread that will answer runs, however long that takes', async (t) => {
  const link = await served(t, { look_ms: 1, looksMost: 1_000_000 }, false)
  t.match(link.askSync({ kind: 'extent' }), { last: 7 })
  let looks: LogLooks = { beats: 5, vain: 0 }
  const vain = [5, 5, 6, 6, 7].map((beats) => {
    looks = lookedAgain(looks, beats)
    return looks.vain
  })
  t.same(vain, [1, 2, 0, 1, 0])
})

test('a writer does not sleep for good when the thread that would answer stands still', async (t) => {
  const link = await served(t, { look_ms: 20, looksMost: 10 }, true)
  const request = (): unknown => link.askSync({ kind: 'append', expected: 7 as LogSequence, bytes: new Uint8Array() })
  t.throws(request, new LogSilent('the thread that has the connection to log 3 of the cluster stands still for 0.2 s'))
  try {
    request()
  } catch (fault) {
    t.ok(isDiskFault(fault), 'nobody knows whether the record stands: the broker ends')
  }
})
