import { setTimeout as delay } from 'node:timers/promises'
import { type Test, test } from 'tap'
import { RunningBroker } from './running.js'
import { attribute, ID, metadata, WGS84 } from './wire/client.js'

const ferry = {
  type: 'Ferry',
  isPattern: 'false',
  id: 'Ferry-1',
  attributes: [
    attribute('berth', 'point', '60.16, 24.95', WGS84),
    attribute('cargo', 'manifest', { cars: '12', decks: ['lower', { lorries: '3' }] }, metadata('by', 'text', 'scale')),
    attribute('fuel', 'litre', '910', ID('port'), metadata('accuracy', 'float', '0.5'), metadata('unit', 'text', 'l')),
    attribute('fuel', 'litre', '880.50', ID('starboard'), metadata('unit', 'text', 'l')),
  ],
}

/** Everything that changes in one broker is told to another one. */
async function mirror(from: RunningBroker, to: RunningBroker): Promise<void> {
  const { text } = await from.send('POST', '/v1/subscribeContext', {
    entities: [{ type: 'Ferry', isPattern: 'true', id: '.*' }],
    reference: `${to.url}/v1/notifyContext`,
    duration: 'P1Y',
    notifyConditions: [{ type: 'ONCHANGE' }],
  })
  if (!text.includes('subscribeResponse')) throw new Error(`a broker was not subscribed to: ${text}`)
}

async function held(broker: RunningBroker): Promise<unknown> {
  const { json } = await broker.send('GET', '/v1/contextEntities/Ferry-1')
  return (json as { contextElement?: unknown }).contextElement
}

/** Waits until a broker holds the entity as it should be; gives what it holds in the end. */
async function comesToHold(broker: RunningBroker, wanted: unknown): Promise<unknown> {
  const limit = Date.now() + 10_000
  for (;;) {
    const entity = await held(broker)
    if (JSON.stringify(entity) === JSON.stringify(wanted) || Date.now() > limit) return entity
    await delay(20)
  }
}

/** How many notifications a broker has received so far. */
async function received(broker: RunningBroker): Promise<number> {
  const { json } = await broker.send('GET', '/statistics')
  return Number((json as { notificationsReceived?: number }).notificationsReceived ?? 0)
}

async function brokers(t: Test, number: number): Promise<readonly RunningBroker[]> {
  return RunningBroker.startAll(t, number, ['-partitions', '2'])
}

test('an entity arrives at the end of a chain of three brokers as it is at its beginning', async (t) => {
  const [first, middle, last] = await brokers(t, 3)
  if (!first || !middle || !last) throw new Error('three brokers were asked for')
  await mirror(middle, last)
  await mirror(first, middle)
  await first.update('APPEND', ferry)
  t.strictSame(await comesToHold(last, ferry), ferry)
  const starboard = attribute('fuel', 'litre', '700', ID('starboard'), metadata('unit', 'text', 'l'))
  await first.update('UPDATE', { ...ferry, attributes: [starboard] })
  const after = { ...ferry, attributes: [...ferry.attributes.slice(0, 3), starboard] }
  t.strictSame(await comesToHold(last, after), after, 'one instance was updated, the other one and all metadata stay')
})

test('a broker of a chain that is killed and comes back gets what it missed', async (t) => {
  const [first, last] = await brokers(t, 2)
  if (!first || !last) throw new Error('two brokers were asked for')
  await mirror(first, last)
  await last.end('SIGKILL')
  await first.update('APPEND', ferry)
  await first.end('SIGKILL')
  await Promise.all([first.run(), last.run()])
  t.strictSame(await comesToHold(last, ferry), ferry)
})

test('a ring of brokers comes to rest, compound values included', async (t) => {
  const ring = await brokers(t, 3)
  for (const [at, broker] of ring.entries()) {
    const next = ring[(at + 1) % ring.length]
    if (next) await mirror(broker, next)
  }
  await ring[0]?.update('APPEND', ferry)
  for (const broker of ring) t.strictSame(await comesToHold(broker, ferry), ferry)
  const counts = (): Promise<readonly number[]> => Promise.all(ring.map(received))
  let before = await counts()
  for (let round = 0; round < 20; round += 1) {
    await delay(200)
    const after = await counts()
    if (JSON.stringify(after) === JSON.stringify(before)) break
    before = after
  }
  t.same(before, [1, 1, 1], 'each was told once')
})
