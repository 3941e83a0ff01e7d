import { createServer } from 'node:http'
import { type Test, test } from 'tap'
import { itemName } from '../../src/data/transfer/items.js'
import { brokerItems } from '../../src/data/transfer/online/broker-items.js'
import { listening } from '../far-end.js'

const page = 500

/** Ids that are exported from a broker that shows these entities, of which some are removed before each page but the first. */
async function exported(t: Test, entities: readonly object[], removals: readonly (readonly number[])[]) {
  let shown = entities
  const offsets: number[] = []
  const server = createServer(({ url = '' }, response) => {
    const gone = offsets.length === 0 ? [] : (removals[offsets.length - 1] ?? [])
    shown = shown.filter((entity) => !gone.includes(entities.indexOf(entity)))
    const offset = Number(new URL(url, 'http://x').searchParams.get('offset'))
    offsets.push(offset)
    response.end(JSON.stringify(shown.slice(offset, offset + page)))
  })
  const port = await listening(t, server)
  const names: string[] = []
  const filter = { kinds: new Set(['entity'] as const), tenant: undefined, path: undefined, type: undefined }
  const address = { url: `http://127.0.0.1:${port}`, token: undefined }
  for await (const item of brokerItems(address, filter, (what) => t.fail(what))) {
    names.push(itemName(item))
  }
  return { names, offsets }
}

/** As many entities, several of which were created in the same millisecond. */
function created(count: number): readonly object[] {
  return Array.from({ length: count }, (_, number) => {
    const date = new Date(Date.UTC(2026, 0) + Math.floor(number / 7)).toISOString()
    const dates = { dateCreated: { type: 'DateTime', value: date }, dateModified: { type: 'DateTime', value: date } }
    return { id: `E${number}`, type: 'T', ...dates, servicePath: { type: 'Text', value: '/' } }
  })
}

function names(count: number, gone: readonly number[]): readonly string[] {
  const all = Array.from({ length: count }, (_, number) => number).filter((number) => !gone.includes(number))
  return all.map((number) => `entity E${number} of type T in /`)
}

test('what is removed during an export over a broker takes nothing else with it', async (t) => {
  const count = 3 * page
  t.same(await exported(t, created(count), []), { names: names(count, []), offsets: [0, 499, 998, 1497] })
  // Before the second page three that were exported, before the third more than a page.
  const many = Array.from({ length: 600 }, (_, number) => 300 + number)
  const { names: shown } = await exported(t, created(count), [[0, 1, 299], many])
  const missing = names(count, many).filter((name) => !shown.includes(name))
  t.same(missing, [], 'each that is still there was exported')
  t.equal(new Set(shown).size, shown.length, 'none twice')
  // All but the first page is removed.
  const rest = Array.from({ length: count - 10 }, (_, number) => 10 + number)
  t.same((await exported(t, created(count), [rest])).names, names(page, []))
})
