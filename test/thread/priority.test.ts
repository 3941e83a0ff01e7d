import { once } from 'node:events'
import { getPriority } from 'node:os'
import { Worker } from 'node:worker_threads'
import { test } from 'tap'

const entry = new URL('../../src/threads/priority.js', import.meta.url)

test('a thread gives way to the others, and no other thread does', async (t) => {
  const code = `
    import { readlinkSync } from 'node:fs'
    import { getPriority } from 'node:os'
    import { parentPort } from 'node:worker_threads'
    import { giveWay } from ${JSON.stringify(entry.href)}
    const done = giveWay(7)
    parentPort.postMessage([done, done && getPriority(Number(readlinkSync('/proc/thread-self').split('/').at(-1)))])
  `
  const before = getPriority()
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(code)}`))
  const [[done, priority]] = await once(worker, 'message')
  t.equal(done, process.platform === 'linux')
  if (done) t.equal(priority, 7)
  t.equal(getPriority(), before)
})
