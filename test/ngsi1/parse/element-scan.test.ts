import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'tap'
import { type ScannedUpdate, scanElements } from '../../../src/api/ngsi1/parse/element-scan.js'
import { parseScannedElement, parseUpdate } from '../../../src/api/ngsi1/parse/update-payload.js'
import { atOnce } from '../../../src/slices.js'
import { staysWithin } from '../../pace.js'
import { meetings, runs } from '../../runs.js'
import { anyBody, usualBody } from '../given-payloads.js'

function scan(body: string): ScannedUpdate | undefined {
  return atOnce(scanElements(body))
}

test('what is scanned is what is parsed: the same action, and elements that mean the same by themselves', async () => {
  let scans = 0
  fc.assert(
    fc.property(anyBody, (body) => {
      const scanned = scan(body)
      if (scanned === undefined) return
      scans += 1
      const parsed = atOnce(parseUpdate(body, false))
      assert(parsed.ok, 'a payload that is refused is not scanned')
      assert.equal(scanned.action, parsed.value.action)
      assert.deepEqual(
        scanned.elements.map(({ text }) => parseScannedElement(text)),
        parsed.value.elements,
      )
      assert.deepEqual(
        scanned.elements.map(({ id }) => id),
        parsed.value.elements.map(({ id }) => id),
      )
    }),
    { numRuns: runs(5000) },
  )
  assert(scans > meetings(1000), `${scans} payloads were scanned`)
})

test('payloads of the usual kind are scanned, whatever the order of their members and the spaces between them', async () => {
  fc.assert(fc.property(usualBody, (body) => scan(body) !== undefined))
})

/** A payload with this text of an element after one that is as it should be. */
function body(element: string, action = '"updateAction":"UPDATE"'): string {
  return `{"contextElements":[{"id":"A"},${element}],${action}}`
}

const scanned: readonly (readonly [what: string, text: string])[] = [
  ['the last of doubled members counts, as ever', '{"type":"T","id":"B","type":"U"}'],
  ['attributes may be missing', '{"id":"B"}'],
  ['attributes may be none', '{"id":"B","attributes":[ ]}'],
  ['an attribute may have no value', '{"id":"B","attributes":[{"name":"a"}]}'],
  ['metadata may be none', '{"id":"B","attributes":[{"name":"a","metadatas":[]}]}'],
  ['brackets in texts are texts', '{"id":"B]}","attributes":[{"name":"a,{","value":"}]}]"}]}'],
]

for (const [what, text] of scanned) {
  test(`scanned: ${what}`, async (t) => {
    const { elements = [] } = scan(body(text)) ?? {}
    t.same(
      elements.map((element) => element.text.trim()),
      ['{"id":"A"}', text],
    )
  })
}

const left: readonly (readonly [what: string, body: string])[] = [
  ['no elements', '{"contextElements":[],"updateAction":"UPDATE"}'],
  ['no list of elements', '{"updateAction":"UPDATE"}'],
  ['elements twice', '{"contextElements":[{"id":"A"}],"contextElements":[{"id":"B"}],"updateAction":"UPDATE"}'],
  ['no action', '{"contextElements":[{"id":"A"}]}'],
  ['an empty action', body('{"id":"B"}', '"updateAction":""')],
  ['another action', body('{"id":"B"}', '"updateAction":"JUMP"')],
  ['the action twice', body('{"id":"B"}', '"updateAction":"UPDATE","updateAction":"APPEND"')],
  ['a comma too many', body('')],
  ['a comma too few', '{"contextElements":[{"id":"A"}{"id":"B"}],"updateAction":"UPDATE"}'],
  ['something behind the payload', `${body('{"id":"B"}')}x`],
  ['an element that is no object', body('"B"')],
  ['no id', body('{"type":"B"}')],
  ['an empty id', body('{"id":""}')],
  ['an id twice', body('{"id":"B","id":"C"}')],
  ['an escape in an id', body('{"id":"\\u0042"}')],
  ['an escape in a key', body('{"\\u0069d":"B"}')],
  ['a forbidden character', body('{"id":"B;"}')],
  ['a control character', body('{"id":"B\u0001"}')],
  ['an unknown member', body('{"id":"B","colour":"red"}')],
  ['a pattern', body('{"id":"B","isPattern":"true"}')],
  ['a number', body('{"id":"B","attributes":[{"name":"a","value":1}]}')],
  ['a compound value', body('{"id":"B","attributes":[{"name":"a","value":["1"]}]}')],
  ['an attribute without a name', body('{"id":"B","attributes":[{"value":"1"}]}')],
  ['a name that may be too long', body(`{"id":"B","attributes":[{"name":"${'n'.repeat(86)}"}]}`)],
  ['metadata without a value', body('{"id":"B","attributes":[{"name":"a","metadatas":[{"name":"m","value":""}]}]}')],
  ['domain metadata', body('{"id":"B","domainMetadatas":[]}')],
]

for (const [what, text] of left) {
  test(`left to the parser: ${what}`, async (t) => t.equal(scan(text), undefined))
}

test('a scan takes linear time, also where it fails at the end', async (t) => {
  const spaces = ' '.repeat(60_000)
  const names = Array.from({ length: 2_500 }, (_, n) => `{"name":"attribute${n}"}`).join(',')
  const metadata = Array.from({ length: 5000 }, () => '{"type":"t","value":"v","type":"t","name":"n"}').join(',')
  const types = '"type":"t",'.repeat(20_000)
  const hostile = [
    body(`{"id":"B","attributes":[{"name":"a","metadatas":[${metadata},]}]}`),
    body(`{"id":"B","attributes":[{"metadatas":[${metadata}]},{"name":"a"}]}`),
    body(`{"id":"B","attributes":[{"name":"a","metadatas":[{${types}"value":"v"}]}]}`),
    body(`{${types}"attributes":[]}`),
    `${body('{"id":"B"}')}${spaces}x`,
    body(`{"id":"B","attributes":[${names},]}`),
    body(`{"id":"B"${spaces}x}`),
  ]
  for (const text of hostile) {
    t.ok(await staysWithin(1000, () => t.equal(scan(text), undefined)))
  }
})
