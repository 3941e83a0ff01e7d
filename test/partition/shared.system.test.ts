import { test } from 'tap'
import { RunningBroker } from '../running.js'
import { during, until } from '../until.js'

/** Entities that take long to read and to write. */
const large = 30
const keys = 20_000

function largeObject(): unknown {
  return Object.fromEntries(Array.from({ length: keys }, (_, n) => [`k${n}`, n]))
}

test('updates of other entities are carried out between the elements of a request that has many slow ones', async (t) => {
  t.setTimeout(300_000)
  const broker = await RunningBroker.start(t, ['-partitions', '1', '-httpThreads', '1'])
  const store = { type: 'StructuredValue', value: largeObject() }
  for (let n = 0; n < large; n += 1) {
    const { status, text } = await broker.send('POST', '/v2/entities', { id: `Large${n}`, type: 'Large', store })
    if (status !== 201) throw new Error(`${status} ${text}`)
  }
  let entities: readonly { readonly id: string; readonly type: string; readonly n: { readonly value: number } }[] = []
  let round = 0
  const servedMeanwhile = async (): Promise<number> => {
    round += 1
    entities = Array.from({ length: large }, (_, n) => ({ id: `Large${n}`, type: 'Large', n: { value: round * n } }))
    let others = 0
    const updated = broker.send('POST', '/v2/op/update', { actionType: 'append', entities })
    const { status } = await during(updated, async () => {
      const small = { id: 'Small', type: 'Small', attributes: [{ name: 'n', type: 'Number', value: `${others}` }] }
      t.equal((await broker.update('APPEND', small)).status, 200)
      others += 1
    })
    t.equal(status, 204)
    return others
  }
  // The first may have been answered before the large request was read, the last one after it; and this process may have to wait for a
  // processor meanwhile.
  await until(async () => (await servedMeanwhile()) > 5, 'others are answered meanwhile, one after the other')
  const { json } = await broker.send('GET', '/v2/entities?type=Large&attrs=n&options=keyValues&limit=100')
  t.same(
    json,
    entities.map(({ id, type, n: { value } }) => ({ id, type, n: value })),
  )
  await broker.endsInOrder(t)
})

test('a broker that ends carries out what it has deferred', async (t) => {
  t.setTimeout(300_000)
  const broker = await RunningBroker.start(t, ['-partitions', '1', '-httpThreads', '1', '-shutdownTimeout', '120'])
  const store = { type: 'StructuredValue', value: largeObject() }
  const created = await broker.send('POST', '/v2/entities', { id: 'Large', type: 'Large', store })
  t.equal(created.status, 201)
  const entities = Array.from({ length: 40 }, (_, n) => ({ id: 'Large', type: 'Large', n: { value: n } }))
  const updated = broker.send('POST', '/v2/op/update', { actionType: 'append', entities })
  const begun = async (): Promise<boolean> => {
    const { json } = await broker.send('GET', '/v2/entities/Large?attrs=n&options=keyValues')
    return typeof json === 'object' && json !== null && 'n' in json
  }
  await until(begun)
  await broker.endsInOrder(t)
  t.equal((await updated).status, 204)
  await broker.run()
  const { json } = await broker.send('GET', '/v2/entities/Large?attrs=n&options=keyValues')
  t.match(json, { n: 39 })
})
