import { test } from 'tap'
import { detailsOfPayload } from '../../../src/api/ngsi1/parse/payload-errors.js'
import {
  parseAppend,
  parseAttribute,
  parseAttributes,
  parseUpdate,
} from '../../../src/api/ngsi1/parse/update-payload.js'
import { atOnce } from '../../../src/slices.js'

/** The details of the refusal of an update with this element. */
function wrong(element: unknown, updateAction: unknown = 'APPEND'): string | undefined {
  const parsed = atOnce(parseUpdate(JSON.stringify({ contextElements: [element], updateAction }), false))
  return parsed.ok ? undefined : detailsOfPayload(parsed.error)
}

function withAttribute(attribute: unknown): unknown {
  return { id: 'Silo1', attributes: [attribute] }
}

function withMetadata(...metadatas: readonly unknown[]): unknown {
  return withAttribute({ name: 'level', value: '1', metadatas })
}

const long = 'n'.repeat(257)

const refusals: readonly (readonly [element: unknown, details: string])[] = [
  [{ type: 'Silo' }, 'empty entityId:id'],
  [{ id: '' }, 'empty entityId:id'],
  ['scalar', 'empty entityId:id'],
  [{ id: 'a', isPattern: 'maybe' }, 'invalid isPattern value for entity: /maybe/'],
  [withAttribute({ value: '1' }), 'missing attribute name'],
  [withAttribute({ name: '' }), 'missing attribute name'],
  [withAttribute({ name: long }), 'attribute name length: 257, max length supported: 256'],
  [withAttribute({ name: 'é'.repeat(129) }), 'attribute name length: 258, max length supported: 256'],
  [withAttribute({ name: 'a', type: long }), 'attribute type length: 257, max length supported: 256'],
  [withMetadata({ value: '1' }), 'missing metadata name'],
  [withMetadata({ name: long, value: '1' }), 'metadata name length: 257, max length supported: 256'],
  [withMetadata({ name: 'a', type: long, value: '1' }), 'metadata type length: 257, max length supported: 256'],
  [withMetadata({ name: 'a' }), 'missing metadata value'],
  [withMetadata({ name: 'a', value: '' }), 'missing metadata value'],
]

for (const [element, details] of refusals) {
  test(`${JSON.stringify(element).slice(0, 60)} is refused: ${details}`, async (t) => t.equal(wrong(element), details))
}

test('names and types of 256 bytes are accepted', async (t) => {
  const name = 'é'.repeat(128)
  t.equal(wrong(withAttribute({ name, type: name, metadatas: [{ name, type: name, value: '1' }] })), undefined)
})

test('two equal keys in a compound value are refused with the path of their object', async (t) => {
  const details = (value: string) => {
    const parsed = atOnce(parseAttribute(`{"value":${value}}`, false, 'plan'))
    return parsed.ok ? undefined : detailsOfPayload(parsed.error)
  }
  const start = 'compound value error: duplicated tag-name:'
  t.equal(details('{"rows":"1","rows":"2"}'), `${start} /rows/ in path: /`)
  t.equal(details('{"bay":{"door":{"k":"1","k":"2"}}}'), `${start} /k/ in path: /bay/door`)
  t.equal(details('{"bay":{"k":"1","k":"2"},"bay":"3"}'), `${start} /k/ in path: /bay`, 'the first in the document')
  t.equal(details('["a",{"k":"1","k":"2"}]'), `${start} /k/ in path: /item`)
  t.equal(details('["a","a",{"a":"1","b":{"a":"2"}}]'), undefined)
})

test('an update needs elements and an action that exists', async (t) => {
  const details = (body: string) => {
    const parsed = atOnce(parseUpdate(body, false))
    return parsed.ok ? undefined : detailsOfPayload(parsed.error)
  }
  t.equal(details('{}'), 'No context elements')
  t.equal(details('{"contextElements":[],"updateAction":"x"}'), 'No context elements')
  t.equal(wrong({ id: 'a' }, ''), 'empty update action type')
  t.equal(wrong({ id: 'a' }, 'INSERT'), 'invalid update action type: /INSERT/')
  t.equal(details('{"contextElements":[{"id":"a"}]}'), 'empty update action type')
  for (const action of ['APPEND', 'append_strict', 'Update', 'replace', 'DELETE']) {
    t.match(atOnce(parseUpdate(JSON.stringify({ contextElements: [{ id: 'a' }], updateAction: action }), false)), {
      value: { action: action.toUpperCase() },
    })
  }
})

test('one bad element refuses the whole request', async (t) => {
  const contextElements = [{ id: 'a' }, { id: 'b', attributes: [{ value: '1' }] }]
  t.notOk(atOnce(parseUpdate(JSON.stringify({ contextElements, updateAction: 'APPEND' }), false)).ok)
})

test('an element is read with its attributes, their instances and their metadata', async (t) => {
  const element = {
    id: 7,
    type: 1.5,
    isPattern: false,
    attributeDomainName: 'd',
    domainMetadatas: [{ name: 'ignored' }],
    attributes: [
      {
        name: 'level',
        type: 'percent',
        value: { rows: 4, tags: ['a', null, true], '': {} },
        metadatas: [
          { name: 'accuracy', value: 0.8 },
          { name: 'ID', type: 'x', value: 'north' },
          { name: 'creData', value: '1' },
          { name: 'location', value: 'WSG84' },
          { name: 'accuracy', type: 'float', value: '0.9' },
        ],
      },
      { name: 'empty', value: '' },
      { name: 'valueless' },
    ],
  }
  t.same(atOnce(parseUpdate(JSON.stringify({ contextElements: [element], updateAction: 'UPDATE' }), false)), {
    ok: true,
    value: {
      action: 'UPDATE',
      elements: [
        {
          id: '7',
          type: '1.5',
          isPattern: false,
          attributes: [
            {
              name: 'level',
              type: 'percent',
              instance: 'north',
              location: 'WSG84',
              value: { rows: '4', tags: ['a', 'null', 'true'], '': {} },
              metadata: [
                { name: 'accuracy', type: '', value: '0.8' },
                { name: 'accuracy', type: 'float', value: '0.9' },
              ],
            },
            { name: 'empty', type: '', instance: '', value: '', metadata: [] },
            { name: 'valueless', type: '', instance: '', metadata: [] },
          ],
        },
      ],
    },
  })
})

test('a key __proto__ of a compound value is a key like any other', async (t) => {
  const parsed = atOnce(parseAttribute('{"value":{"__proto__":{"a":"1"}}}', false, 'plan'))
  t.equal(parsed.ok && JSON.stringify(parsed.value.value), '{"__proto__":{"a":"1"}}')
})

test('isPattern has several spellings', async (t) => {
  const read = (isPattern: unknown) => {
    const parsed = atOnce(
      parseUpdate(JSON.stringify({ contextElements: [{ id: 'a', isPattern }], updateAction: 'UPDATE' }), false),
    )
    return parsed.ok ? parsed.value.elements[0]?.isPattern : undefined
  }
  for (const yes of ['true', '1', true, 1]) t.equal(read(yes), true)
  for (const no of ['false', '0', '', false, 0]) t.equal(read(no), false)
  for (const neither of ['TRUE', 'yes', null, 2]) t.equal(read(neither), undefined)
})

test('the payloads of convenience operations have their own members', async (t) => {
  t.ok(
    atOnce(
      parseAppend(
        '{"id":"a","type":"b","isPattern":"0","attributes":[],"attributeDomainName":"d","metadatas":[]}',
        false,
      ),
    ).ok,
  )
  t.match(atOnce(parseAppend('{"isPattern":"0"}', false)), {
    value: { id: '', type: '', isPattern: false, namesEntity: true, attributes: [] },
  })
  t.match(atOnce(parseAppend('{"attributes":[]}', false)), { value: { isPattern: false, namesEntity: false } })
  for (const member of ['id', 'type', 'isPattern']) {
    t.match(atOnce(parseAppend(`{"${member}":""}`, false)), { value: { namesEntity: true } }, member)
  }
  t.ok(atOnce(parseAttributes('{"attributes":[],"attributeDomainName":"d"}', false)).ok)
  t.match(atOnce(parseAttributes('{"id":"a"}', false)), { error: { kind: 'fieldUnknown', path: '/id' } })
  t.match(atOnce(parseAttribute('{"name":"a"}', false, 'b')), { error: { kind: 'fieldUnknown', path: '/name' } })
  t.match(atOnce(parseAttribute('{"attributes":[]}', false, 'b')), {
    error: { kind: 'fieldUnknown', path: '/attributes' },
  })
  t.match(atOnce(parseAttribute('{}', false, long)), {
    error: { kind: 'tooLong', of: 'attribute', part: 'name', bytes: 257 },
  })
})
