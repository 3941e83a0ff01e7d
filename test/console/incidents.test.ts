import { test } from 'tap'
import type { LiveFrame, LiveHello } from '../../src/api/console/live-frame.js'
import { concernsOf } from '../../src/api/console/page/overview/concerns.js'
import { EventReader } from '../event-reader.js'
import { FarEnd, responding } from '../far-end.js'
import { RunningBroker } from '../running.js'
import { until } from '../until.js'

/** What the overview of a broker says until it says all of this. */
async function saidUntil(broker: RunningBroker, ...expected: readonly RegExp[]): Promise<readonly string[]> {
  const viewer = await EventReader.open(`${broker.url}/admin/live`)
  const hello = (await viewer.json('hello')) as LiveHello
  let texts: readonly string[] = []
  try {
    return await until(
      async () => {
        const frame = (await viewer.json('frame')) as LiveFrame
        const latest = { frame, distributions: new Map() }
        const { concerns } = concernsOf({ hello, latest, earlier: undefined, recent: undefined }, [])
        texts = concerns.map(({ tone, text }) => `${tone}: ${text}`)
        return expected.every((each) => texts.some((text) => each.test(text))) && texts
      },
      () => `it is said what is wrong: ${texts.join('; ')}`,
    )
  } finally {
    viewer.close()
  }
}

test('what is wrong in an incident is said by the figures of a broker', async (t) => {
  const broker = await RunningBroker.start(t, ['-httpTimeout', '600000'])
  // Some attempts take a second, all others do not end: most notifications wait, however slow the machine is.
  const slow = await FarEnd.listen(t, (received, response) => {
    if (slow.bodies.length <= 8) setTimeout(() => responding(200)(received, response), 1000).unref()
  })
  const subscribe = (type: string, url: string) =>
    broker.send('POST', '/v2/subscriptions', {
      subject: { entities: [{ idPattern: '.*', type }] },
      notification: { http: { url } },
    })
  // Nothing listens at port 9.
  for (const path of ['a', 'b', 'c']) await subscribe('Down', `http://127.0.0.1:9/${path}`)
  await subscribe('Slow', slow.url())
  await broker.send('POST', '/v2/entities', { id: 'D', type: 'Down', n: { value: 1 } })
  const entities = Array.from({ length: 1100 }, (_, at) => ({ id: `S${at}`, type: 'Slow', n: { value: at } }))
  for (let from = 0; from < entities.length; from += 100) {
    const batch = { actionType: 'append', entities: entities.slice(from, from + 100) }
    t.equal((await broker.send('POST', '/v2/op/update', batch)).status, 204)
  }
  t.equal((await broker.send('POST', '/v2/entities', '{"id":')).status, 400)
  const texts = await saidUntil(
    broker,
    /^bad: 127\.0\.0\.1:9: 3 receivers fail, connection refused since \d\d:\d\d, 3 wait$/,
    new RegExp(`: 127\\.0\\.0\\.1:${slow.port}: 1,\\d+ notifications wait, the oldest for \\d.*, an attempt takes \\d`),
    /^bad: client 127\.0\.0\.1 sends bad requests, .+ since \d\d:\d\d/,
  )
  t.comment(texts.join('; '))
})
