import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'tap'
import { parseBatch } from '../../src/api/ngsi2/parse/entities.js'
import { parseScannedEntity, type ScannedBatch, scanEntities } from '../../src/api/ngsi2/parse/entity-scan.js'
import { atOnce } from '../../src/slices.js'
import { staysWithin } from '../pace.js'
import { meetings, runs } from '../runs.js'
import { anyBatch } from './given-batches.js'

function scan(body: string): ScannedBatch | undefined {
  return atOnce(scanEntities(body))
}

test('what is scanned is what is parsed: the same action, and entities that mean the same by themselves', async () => {
  let scans = 0
  fc.assert(
    fc.property(anyBatch, (body) => {
      const scanned = scan(body)
      if (scanned === undefined) return
      scans += 1
      const parsed = atOnce(parseBatch(body, 'normalized'))
      assert(parsed.ok, `a payload that is refused is not scanned: ${body}`)
      assert.equal(scanned.action, parsed.value.action)
      assert.deepEqual(
        scanned.entities.map(({ text }) => parseScannedEntity(text)),
        parsed.value.entities,
      )
      assert.deepEqual(
        scanned.entities.map(({ id }) => id),
        parsed.value.entities.map(({ id }) => id),
      )
    }),
    { numRuns: runs(10_000) },
  )
  assert(scans > meetings(1000), `${scans} payloads were scanned`)
})

test('of metadata with one name the last one counts, scanned or parsed', async (t) => {
  const doubled = '"m":{"type":"Text","value":1},"n":{"value":2},"m":{"type":"Number","value":3}'
  const payload = body(`{"id":"B","a":{"value":1,"metadata":{${doubled}}}}`)
  const parsed = atOnce(parseBatch(payload, 'normalized'))
  const entities = scan(payload)?.entities.map(({ text }) => parseScannedEntity(text))
  t.same(parsed.ok && parsed.value.entities, entities)
  const metadata = [
    { name: 'm', type: 'Number', value: 3 },
    { name: 'n', type: 'Number', value: 2 },
  ]
  t.match(entities?.[1]?.attributes, [{ metadata }])
})

/** A payload with this text of an entity behind one that is as it should be. */
function body(entity: string, action = '"actionType":"append"'): string {
  return `{${action},"entities":[{"id":"A","type":"T"},${entity}]}`
}

const scanned: readonly (readonly [what: string, text: string])[] = [
  ['an entity without attributes', '{"id":"B"}'],
  ['the last of doubled metadata counts', '{"id":"B","a":{"value":1,"metadata":{"m":{"value":1},"m":{"value":2}}}}'],
  ['names that objects have', '{"id":"B","__proto__":{"value":1},"constructor":{"value":2}}'],
  ['no metadata', '{"id":"B","a":{"type":"T","value":"x","metadata":{ }}}'],
  [
    'dates',
    '{"id":"B","a":{"value":"2020-02-29","type":"DateTime","metadata":{"m":{"type":"ISO8601","value":"2021-01-01"}}}}',
  ],
  ['an expiration', '{"id":"B","dateExpires":{"type":"DateTime","value":"2020-02-29"}}'],
  ['brackets in texts are texts', '{"id":"B]}","a":{"value":"}],{"}}'],
]

for (const [what, text] of scanned) {
  test(`scanned: ${what}`, async (t) => {
    const { entities = [] } = scan(body(text)) ?? {}
    t.same(
      entities.map((entity) => entity.text),
      ['{"id":"A","type":"T"}', text],
    )
  })
}

const left: readonly (readonly [what: string, body: string])[] = [
  ['no entities', '{"actionType":"append","entities":[]}'],
  ['no action', '{"entities":[{"id":"A"}]}'],
  ['another action', body('{"id":"B"}', '"actionType":"burn"')],
  ['something behind the payload', `${body('{"id":"B"}')}x`],
  ['a comma too many', body('')],
  ['an entity that is no object', body('7')],
  ['an empty object', body('{}')],
  ['no id', body('{"type":"B"}')],
  ['an id twice', body('{"id":"B","id":"C"}')],
  ['an attribute twice', body('{"id":"B","a":{"value":1},"a":{"value":2}}')],
  ['a pattern', body('{"idPattern":".*"}')],
  ['an id that is too long', body(`{"id":"${'B'.repeat(257)}"}`)],
  ['an escape', body('{"id":"B","a":{"value":"\\u0041"}}')],
  ['a forbidden character', body('{"id":"B","a":{"value":"<"}}')],
  ['a space in a name', body('{"id":"B","a b":{"value":1}}')],
  ['a compound value', body('{"id":"B","a":{"value":{"k":1}}}')],
  ['an exponent', body('{"id":"B","a":{"value":1e400}}')],
  ['no date', body('{"id":"B","a":{"type":"DateTime","value":"2021-02-29"}}')],
  ['no date in metadata', body('{"id":"B","a":{"value":1,"metadata":{"m":{"type":"DateTime","value":1}}}}')],
  ['no GeoJSON', body('{"id":"B","a":{"type":"geo:json","value":5}}')],
  ['an expiration that is no date', body('{"id":"B","dateExpires":{"value":"x"}}')],
  ['a name that an object would move to its beginning', body('{"id":"B","a":{"value":1},"1":{"value":1}}')],
  ['an attribute called id', body('{"id":{"value":1}}')],
  ['a type that is too long before another', body(`{"id":"B","a":{"type":"${'T'.repeat(257)}","value":1,"type":"T"}}`)],
  [
    'a name of metadata that is too long',
    body(`{"id":"B","a":{"value":1,"metadata":{"${'m'.repeat(257)}":{"value":1}}}}`),
  ],
  ['an unknown member', body('{"id":"B","a":{"value":1,"colour":"red"}}')],
]

for (const [what, text] of left) {
  test(`left to the parser: ${what}`, async (t) => t.equal(scan(text), undefined))
}

test('a scan takes linear time, also where it fails at the end', async (t) => {
  const spaces = ' '.repeat(60_000)
  const metadata = Array.from({ length: 3000 }, (_, n) => `"m${n}":{"type":"T","value":"v"}`).join(',')
  const names = Array.from({ length: 3000 }, (_, n) => `"a${n}":{"value":1}`).join(',')
  const hostile = [
    body(`{"id":"B","a":{"value":1,"metadata":{${metadata},}}}`),
    body(`{"id":"B","a":{"value":1,"metadata":{${metadata}}},}`),
    body(`{"id":"B",${names},}`),
    body(`{"id":"B"${spaces}x}`),
    `${body('{"id":"B"}')}${spaces}x`,
    body(`{"id":"${'B'.repeat(60_000)}`),
    body(`{"id":"B","a":{"value":"${'x'.repeat(60_000)}`),
  ]
  for (const text of hostile) t.ok(await staysWithin(1000, () => t.equal(scan(text), undefined)))
})
