import fc from 'fast-check'

const date = fc.constantFrom('2020-02-29T10:00:00Z', '2020-02-29', '2021-02-29', 'soon')
const scalar = fc.constantFrom<unknown>('warm', '', 'Ä ö', 1, -2.5, 0, 1e21, true, false, null)
const type = fc.constantFrom('Number', 'Text', 'TextUnrestricted', 'geo:point')
const typed = fc.oneof(
  { weight: 9, arbitrary: fc.record({ type, value: scalar }, { requiredKeys: ['value'], noNullPrototype: true }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constantFrom('DateTime', 'ISO8601'), value: date }) },
  { weight: 2, arbitrary: fc.record({ value: scalar, type }) },
  { weight: 1, arbitrary: fc.record({ value: scalar, type: fc.constant('geo:json') }) },
)
const metadata = fc.dictionary(fc.constantFrom('unit', 'id', 'ID', 'ignoreType', '7', '__proto__'), typed, {
  maxKeys: 3,
  noNullPrototype: true,
})
const attribute = fc.oneof(
  { weight: 5, arbitrary: typed },
  { weight: 5, arbitrary: fc.tuple(typed, metadata).map(([own, elements]) => ({ ...own, metadata: elements })) },
)
const name = fc.oneof(
  { weight: 20, arbitrary: fc.constantFrom('heat', 'lid', 'level', 'toString', '__proto__') },
  { weight: 1, arbitrary: fc.constantFrom('9', 'dateExpires', 'a b', 'n'.repeat(257)) },
)
const attributes = fc.dictionary(name, attribute, { maxKeys: 3, noNullPrototype: true })
const identity = fc.record(
  { id: fc.constantFrom('Vat1', 'Vat2', 'urn:ngsi-ld:Vat:3'), type: fc.constantFrom('Vat', 'Thing') },
  { requiredKeys: ['id'], noNullPrototype: true },
)

/** An entity of a batch that has little unusual in it. */
export const usualEntity = fc
  .tuple(identity, attributes, fc.boolean())
  .map(([own, rest, isLast]) => (isLast ? { ...rest, ...own } : { ...own, ...rest }))

const indent = fc.constantFrom<string | undefined>(undefined, ' ', '\t')
const action = fc.constantFrom('append', 'appendStrict', 'update', 'replace', 'delete', 'DELETE', 'burn', 'Append')

const batch = fc
  .tuple(action, fc.array(usualEntity, { minLength: 1, maxLength: 4 }), fc.boolean(), indent)
  .map(([actionType, entities, isLast, space]) =>
    JSON.stringify(isLast ? { entities, actionType } : { actionType, entities }, undefined, space),
  )

/** Bodies of op/update that are usual, unusual, or damaged in one place. */
export const anyBatch = fc.oneof(
  { weight: 6, arbitrary: batch },
  {
    weight: 3,
    arbitrary: fc
      .tuple(batch, fc.nat(), fc.constantFrom('', '"', ',', '}', '\\', '\u0000', 'id', '5', '{', 'x'))
      .map(([body, seed, characters]) => {
        const at = seed % body.length
        return body.slice(0, at) + characters + body.slice(at + 1)
      }),
  },
)
