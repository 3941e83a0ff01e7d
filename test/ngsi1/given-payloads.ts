import fc from 'fast-check'

const name = fc.constantFrom('a', 'b', 'id', '', 'x;', 'a b', 'ß'.repeat(85), 'ß'.repeat(129), 'contextElements')
const metadata = fc.record(
  {
    name: fc.constantFrom('ID', 'm', 'id', 'location'),
    value: fc.constantFrom<unknown>('i', 'WGS84', '', 1.5),
    type: fc.constantFrom('', 'string', 'x"y'),
  },
  { requiredKeys: ['name', 'value'], noNullPrototype: true },
)
const attribute = fc.record(
  {
    name,
    type: fc.constantFrom('', 't', 'geo:point'),
    value: fc.constantFrom<unknown>('1', '', '48, 16', 'é\\n', 7, { id: '1' }, ['x']),
    metadatas: fc.array(metadata, { maxLength: 2 }),
    colour: fc.constant('red'),
  },
  { requiredKeys: ['name'], noNullPrototype: true },
)

/** A context element that is right, slightly wrong or wild. */
const oddElement = fc.record(
  {
    id: fc.constantFrom<unknown>('E', 'F', '', 7, 'E?'),
    type: fc.constantFrom('', 'T', 'U'),
    isPattern: fc.constantFrom<unknown>('false', 'true', 'maybe', false),
    attributes: fc.array(attribute, { maxLength: 3 }),
  },
  { requiredKeys: [], noNullPrototype: true },
)

const usualAttribute = fc.record(
  {
    name: fc.constantFrom('a', 'b', 'id', 'ß'.repeat(85)),
    type: fc.constantFrom('', 't', 'geo:point', 'string'),
    value: fc.constantFrom('1', '', '48, 16', '{id: [1]}, "'.replaceAll('"', '')),
    metadatas: fc.array(
      fc.record(
        {
          name: fc.constantFrom('ID', 'm', 'location'),
          type: fc.constantFrom('', 't'),
          value: fc.constantFrom('i', 'WGS84'),
        },
        { requiredKeys: ['name', 'value'], noNullPrototype: true },
      ),
      { maxLength: 2 },
    ),
  },
  { requiredKeys: ['name'], noNullPrototype: true },
)

/** A context element that has nothing unusual, whether or not it can be carried out. */
const usualElement = fc
  .record(
    {
      id: fc.constantFrom('E', 'F', 'G', 'Ä ö'),
      type: fc.constantFrom('', 'T', 'U'),
      isPattern: fc.constantFrom('false', ''),
      attributes: fc.array(usualAttribute, { maxLength: 3 }),
    },
    { requiredKeys: ['id'], noNullPrototype: true },
  )
  .chain(shuffled)

/** The same members in any order. */
function shuffled<Thing extends object>(thing: Thing): fc.Arbitrary<unknown> {
  const members = Object.entries(thing)
  return fc.shuffledSubarray(members, { minLength: members.length }).map((order) => Object.fromEntries(order))
}

function payloadOf(element: fc.Arbitrary<unknown>, actions: readonly string[], minLength = 1): fc.Arbitrary<unknown> {
  return fc
    .record(
      { contextElements: fc.array(element, { minLength, maxLength: 4 }), updateAction: fc.constantFrom(...actions) },
      { noNullPrototype: true },
    )
    .chain(shuffled)
}

const actions = ['APPEND', 'UPDATE', 'append_strict', 'REPLACE', 'DELETE'] as const

const indent = fc.constantFrom<string | undefined>(undefined, ' ', '\t')

function textOf(payload: fc.Arbitrary<unknown>): fc.Arbitrary<string> {
  return fc.tuple(payload, indent).map(([value, space]) => JSON.stringify(value, undefined, space))
}

/** Bodies of updateContext of which nothing is refused, in which all scalars are texts without escapes. */
export const usualBody = textOf(payloadOf(usualElement, actions))

/** Bodies of updateContext that are right, wrong in one place, or not even JSON. */
export const anyBody = fc.oneof(
  { weight: 6, arbitrary: usualBody },
  { weight: 4, arbitrary: textOf(payloadOf(fc.oneof(usualElement, oddElement), [...actions, 'JUMP', ''], 0)) },
  {
    weight: 2,
    arbitrary: fc.tuple(usualBody, fc.nat(), fc.constantFrom('', '"', ',', '}', '\\', '\u0000', 'id')).map(damaged),
  },
)

/** With other characters in the place of one. */
function damaged([body, seed, characters]: readonly [string, number, string]): string {
  const at = seed % body.length
  return body.slice(0, at) + characters + body.slice(at + 1)
}
