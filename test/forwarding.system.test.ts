import { type Test, test } from 'tap'
import { RunningBroker } from './running.js'
import { attribute, echo, item, metadata, ok, responses, shown, status } from './wire/client.js'

const noise = attribute('noise', 'dB', '58', metadata('window', 'text', '10m'))
const lamp = attribute('lamp', 'state', 'on')

/** A broker whose disk is slow is no provider that fails. */
const patient = ['-httpTimeout', '60000']

async function three(t: Test, flags: readonly string[] = []) {
  const [front, north, south] = await RunningBroker.startAll(t, 3, [...patient, ...flags])
  if (!front || !north || !south) throw new Error('three brokers were asked for')
  return { front, north, south }
}

/** Says in one broker that another one has attributes of an entity, all of them without names. */
async function register(
  at: RunningBroker,
  provider: RunningBroker,
  id: string,
  ...names: readonly string[]
): Promise<void> {
  const { text } = await at.send('POST', '/v1/registry/registerContext', {
    contextRegistrations: [
      {
        entities: [{ type: 'Street', isPattern: 'false', id }],
        attributes: names.map((name) => ({ name, type: '', isDomain: 'false' })),
        providingApplication: `${provider.url}/v1`,
      },
    ],
  })
  if (text.includes('errorCode')) throw new Error(`a registration was refused: ${text}`)
}

function query(broker: RunningBroker, ...ids: readonly string[]) {
  return broker.send('POST', '/v1/queryContext', { entities: ids.map((id) => ({ type: 'Street', id })) })
}

function street(id: string, ...attributes: readonly unknown[]): unknown {
  return { type: 'Street', isPattern: 'false', id, attributes }
}

test('a front broker answers with what it has and with what two providers have', async (t) => {
  const { front, north, south } = await three(t, ['-httpThreads', '2'])
  await register(front, north, 'Street-4', 'noise')
  await register(front, south, 'Street-9')
  await front.update('APPEND', street('Street-4', lamp))
  await north.update('APPEND', street('Street-4', noise, attribute('ozone', 'ppb', '31')))
  await south.update('APPEND', street('Street-9', noise))
  const whole = responses(item(shown('Street-4', 'Street', lamp, noise)), item(shown('Street-9', 'Street', noise)))
  // Every connection may reach another front end, and each has to know what is registered.
  for (let round = 0; round < 8; round += 1) {
    t.strictSame((await query(front, 'Street-4', 'Street-9')).json, whole)
  }
  await south.end('SIGKILL')
  const part = responses(item(shown('Street-4', 'Street', lamp, noise)))
  t.strictSame((await query(front, 'Street-4', 'Street-9')).json, part, 'a provider that is down costs its part')
  await front.end('SIGKILL')
  await Promise.all([front.run(), south.run()])
  t.strictSame((await query(front, 'Street-4', 'Street-9')).json, whole, 'registrations survive')
})

test('an update reaches the provider, and the response tells what was done where', async (t) => {
  const { front, north } = await three(t)
  await register(front, north, 'Street-4', 'noise')
  await front.update('APPEND', street('Street-4', lamp))
  await north.update('APPEND', street('Street-4', noise))
  const louder = attribute('noise', 'dB', '61', metadata('window', 'text', '5m'))
  const reply = await front.update(
    'UPDATE',
    street('Street-4', attribute('lamp', 'state', 'off'), louder, attribute('ozone', 'ppb', '1')),
  )
  t.strictSame(
    reply.json,
    responses(
      item(
        shown('Street-4', 'Street', echo('lamp', 'state'), echo('noise', 'dB', metadata('window', 'text', '5m'))),
        ok,
      ),
      item(shown('Street-4', 'Street', echo('ozone', 'ppb')), status(404, 'Street-4')),
    ),
  )
  t.strictSame((await query(north, 'Street-4')).json, responses(item(shown('Street-4', 'Street', louder))))
  const both = responses(item(shown('Street-4', 'Street', attribute('lamp', 'state', 'off'), louder)))
  t.strictSame((await query(front, 'Street-4')).json, both, 'nothing of it is stored in front')
})

test('a chain of brokers that are providers of each other answers from its end', async (t) => {
  const { front, north, south } = await three(t)
  await register(front, north, 'Street-7')
  await register(north, south, 'Street-7')
  await south.update('APPEND', street('Street-7', noise))
  t.strictSame((await query(front, 'Street-7')).json, responses(item(shown('Street-7', 'Street', noise))))
  const reply = await front.update('UPDATE', street('Street-7', attribute('noise', 'dB', '40')))
  t.match(reply.json, responses(item({ id: 'Street-7' }, ok)))
  t.match((await query(south, 'Street-7')).json, responses(item({ attributes: [{ value: '40' }] })))
})

test('brokers that are providers of each other in a ring come to a response', async (t) => {
  const { front, north, south } = await three(t)
  await register(front, north, 'Street-8')
  await register(north, south, 'Street-8')
  await register(south, front, 'Street-8')
  const nothing = { errorCode: status(404) }
  t.strictSame((await query(front, 'Street-8')).json, nothing)
  t.match((await front.update('UPDATE', street('Street-8', noise))).json, {
    contextResponses: [item({}, { code: '404' })],
  })
  for (const broker of [front, north, south]) {
    const { json } = await broker.send('GET', '/statistics')
    t.match(json, { queries: broker === front ? 2 : 1, updates: broker === front ? 2 : 1 }, 'each was asked once')
  }
  await south.update('APPEND', street('Street-8', noise))
  t.strictSame((await query(front, 'Street-8')).json, responses(item(shown('Street-8', 'Street', noise))))
})
