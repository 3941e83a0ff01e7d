import { type Test, test } from 'tap'
import { RunningBroker } from '../running.js'
import { type Client, tenantClient } from './client.js'

const broker = await RunningBroker.shared()

/** The same payload, which the front end reads: it is long, and has an escape, so that its elements are not scanned. */
function readHere(body: string): string {
  return body.replace('"updateAction"', '"updateActio\\u006e"') + ' '.repeat(64 * 1024)
}

const count = 40

function named(n: number, ...names: readonly string[]): unknown {
  return { id: `Silo${n}`, type: 'Silo', attributes: names.map((name) => ({ name, type: 't', value: `${n}` })) }
}

const held = Array.from({ length: count }, (_, n) => named(n, 'level'))

/** Sends a batch as it is to one client, and so that the front end reads it to another; the text of the response. */
async function bothWays(t: Test, [raw, read]: readonly [Client, Client], body: string, search = ''): Promise<string> {
  const path = `/v1/updateContext${search}`
  const { status, text } = await raw.send('POST', path, body)
  const other = await read.send('POST', path, readHere(body))
  t.equal(status, other.status)
  t.equal(text, other.text)
  for (const n of [0, 2, 17, count - 1]) t.strictSame(await raw.held(`Silo${n}`), await read.held(`Silo${n}`))
  return text
}

async function clients(): Promise<readonly [Client, Client]> {
  const pair = [tenantClient(broker), tenantClient(broker)] as const
  for (const client of pair) await client.given(...held)
  return pair
}

test('a batch over all partitions is answered in its order, what is missing after everything else', async (t) => {
  const contextElements = Array.from({ length: count }, (_, n) => named(n, 'level', ...(n % 5 === 0 ? ['light'] : [])))
  const body = JSON.stringify({ contextElements, updateAction: 'UPDATE' })
  for (const search of ['', '?attributesFormat=object']) {
    const text = await bothWays(t, await clients(), body, search)
    const ids = [...text.matchAll(/"id":"Silo(\d+)"/g)].map(([, n]) => Number(n))
    const all = Array.from({ length: count }, (_, n) => n)
    t.same(ids, [...all, ...all.filter((n) => n % 5 === 0)])
  }
})

test('of a batch whose third element is wrong nothing is carried out', async (t) => {
  const elements = Array.from({ length: count }, (_, n) => JSON.stringify(named(n, 'light')))
  for (const wrong of ['{"id":""}', '{"id":"Silo2"', '{"id":"Silo2","colour":"red"}', '{"id":"Silo2;"}', '7']) {
    const pair = await clients()
    const body = `{"contextElements":[${elements.toSpliced(2, 1, wrong)}],"updateAction":"APPEND"}`
    t.match(await bothWays(t, pair, body), /"errorCode":\{"code":"400"/)
    t.notMatch(JSON.stringify(await pair[0].held('Silo0')), /light/)
  }
})

test('elements of one entity in a batch are applied in their order', async (t) => {
  const contextElements = Array.from({ length: count }, (_, n) => ({
    id: 'Silo0',
    type: 'Silo',
    attributes: [{ name: 'level', value: `${n}` }],
  }))
  const pair = await clients()
  await bothWays(t, pair, JSON.stringify({ contextElements, updateAction: 'APPEND' }))
  t.match(await pair[0].held('Silo0'), [{ attributes: [{ name: 'level', value: `${count - 1}` }] }])
})
