import fc from 'fast-check'
import { test } from 'tap'
import type { AttributeForm } from '../../src/api/ngsi2/parse/attributes.js'
import {
  parseAttributeMembers,
  parseBatch,
  parseEntity,
  parseNotified,
  parseOneAttribute,
  parseValueBody,
} from '../../src/api/ngsi2/parse/entities.js'
import type { ApiResponse } from '../../src/broker/operations/api.js'
import type { Result } from '../../src/result.js'
import { atOnce, type Steps } from '../../src/slices.js'

/** What a payload is refused with; nothing when it is not. */
function refusalOf(steps: Steps<Result<unknown, ApiResponse>>): unknown {
  const read = atOnce(steps)
  return read.ok ? undefined : JSON.parse(String(read.error.body))
}

function entity(body: unknown, form: AttributeForm = 'normalized'): Steps<Result<unknown, ApiResponse>> {
  return parseEntity(typeof body === 'string' ? body : JSON.stringify(body), form)
}

const bad = (description: string) => ({ error: 'BadRequest', description })
const malformed = { error: 'ParseError', description: 'Errors found in incoming JSON buffer' }

const noGeoJson = 'geo:json needs an object or null as value'

/** An entity with one attribute. */
const withX = (attribute: unknown) => ({ id: 'V1', type: 'Vat', x: attribute })

test('what is wrong with an entity, its attributes and their metadata [NGSIv2 context 4.1, 15]', async (t) => {
  const cases: readonly (readonly [body: unknown, refusal: unknown])[] = [
    ['{"id": ', malformed],
    ['[1]', malformed],
    ['"text"', malformed],
    ['{"id":"V1","x":{"value":1e999}}', malformed],
    [{}, bad('entity id length: 0, min length supported: 1')],
    [{ type: 'Vat' }, bad('entity id length: 0, min length supported: 1')],
    [{ id: '' }, bad('entity id length: 0, min length supported: 1')],
    [{ id: 7 }, bad('Invalid JSON type for entity id')],
    [{ id: 'V1', type: null }, bad('Invalid JSON type for entity type')],
    [{ id: 'V1', type: '' }, bad('entity type length: 0, min length supported: 1')],
    [{ id: 'a b' }, bad('Invalid characters in entity id')],
    [{ id: 'ä' }, bad('Invalid characters in entity id')],
    [{ id: 'V1', type: 'a<b' }, bad('Invalid characters in entity type')],
    [{ id: 'x'.repeat(257) }, bad('entity id length: 257, max length supported: 256')],
    [{ id: 'V1', '': {} }, bad('attribute name length: 0, min length supported: 1')],
    [{ id: 'V1', 'a#b': {} }, bad('Invalid characters in attribute name')],
    ['{"id":"V1","x":{},"x":{}}', bad('duplicated attribute /x/')],
    ['{"id":"V1","x":{"value":1,"value":2}}', bad('duplicated value key in attribute')],
    ['{"id":"V1","x":{"value":{"a":1,"a":2}}}', bad('duplicated tag-name: /a/ in path: /')],
    ['{"id":"V1","x":{"value":{"k":[{"l":{"a":1,"a":2}}]}}}', bad('duplicated tag-name: /a/ in path: /k/l/')],
    [withX(1), bad('attribute must be a JSON object, unless keyValues option is used')],
    [withX({ valu: 1 }), bad('unrecognized property for context attribute')],
    [withX({ type: 1 }), bad('invalid JSON type for attribute type')],
    [withX({ type: '' }), bad('attribute type length: 0, min length supported: 1')],
    [withX({ type: 'a/b' }), bad('Invalid characters in attribute type')],
    [withX({ value: 'a=b' }), bad('Invalid characters in attribute value')],
    [withX({ value: { k: ['(x)'] } }), bad('Invalid characters in attribute value')],
    [withX({ metadata: [] }), bad('metadata not a JSON object')],
    [withX({ metadata: { m: 1 } }), bad('metadata must be a JSON object')],
    [withX({ metadata: { m: { unit: 1 } } }), bad('invalid JSON field for attribute metadata')],
    [withX({ metadata: { m: { type: 1 } } }), bad('invalid JSON type for attribute metadata type')],
    [withX({ metadata: { '': {} } }), bad('metadata name length: 0, min length supported: 1')],
    [withX({ metadata: { 'm?': {} } }), bad('Invalid characters in metadata name')],
    [withX({ metadata: { m: { type: 'a b' } } }), bad('Invalid characters in metadata type')],
    [withX({ metadata: { m: { value: 'a;b' } } }), bad('Invalid characters in metadata value')],
    [withX({ value: [1], metadata: { m: 1 } }), bad('metadata must be a JSON object')],
    [withX({ type: 'DateTime', value: 'soon' }), bad('date has invalid format in attribute value')],
    [withX({ type: 'ISO8601', value: 5 }), bad('date has invalid format in attribute value')],
    [withX({ type: 'DateTime', value: { $inc: 1 } }), bad('date has invalid format in attribute value')],
    [withX({ metadata: { m: { type: 'DateTime', value: 'soon' } } }), bad('date has invalid format in metadata value')],
    [withX({ value: { $inc: 1, unit: 'C' } }), bad('invalid combination of update operators')],
    [withX({ type: 'geo:json', value: '1,2' }), bad(noGeoJson)],
    [withX({ type: 'geo:json', value: [1, 2] }), bad(noGeoJson)],
    [withX({ type: 'geo:json', value: 5, metadata: { ignoreType: { value: true } } }), bad(noGeoJson)],
    [
      { id: 'V1', dateExpires: { value: '2050-01-01', type: 'Text' } },
      bad('error processing date expiration attribute, see log traces'),
    ],
  ]
  for (const [body, refusal] of cases) t.same(refusalOf(entity(body)), refusal, JSON.stringify(body).slice(0, 60))
})

test('a geo:json may be null, any object, and an update operator until it is applied [NGSIv2 context 3.5]', async (t) => {
  for (const value of [null, {}, { type: 'Feature' }, { $set: { type: 'Point' } }, { $unset: 1 }]) {
    t.equal(refusalOf(entity(withX({ type: 'geo:json', value }))), undefined, JSON.stringify(value))
  }
  t.equal(refusalOf(entity(withX({ type: 'geo:json' }))), undefined)
  t.equal(refusalOf(entity(withX({ value: 5, metadata: { m: { type: 'geo:json', value: 5 } } }))), undefined)
  t.equal(refusalOf(entity(withX({ type: 'geo:json', value: 5 }), 'keyValues')), undefined)
})

test('the first mistake in the order of the document decides', async (t) => {
  t.same(refusalOf(entity('{"x":1,"id":7}')), bad('attribute must be a JSON object, unless keyValues option is used'))
  t.same(refusalOf(entity('{"id":7,"x":1}')), bad('Invalid JSON type for entity id'))
  t.same(
    refusalOf(entity('{"10":{},"9":1,"id":""}')),
    bad('attribute must be a JSON object, unless keyValues option is used'),
  )
})

test('a value may be nested 50 levels deep, metadata too, however deep the payload is [NGSIv2 context 3.1]', async (t) => {
  const nested = (levels: number) => `${'['.repeat(levels)}1${']'.repeat(levels)}`
  const tooDeep = {
    error: 'ParseError',
    description: 'attribute or metadata value has overpassed maximum nesting limit: 50',
  }
  const at = (levels: number) => refusalOf(entity(`{"id":"V1","x":{"value":${nested(levels)}}}`))
  t.same([at(50), at(51), at(5000)], [undefined, tooDeep, tooDeep])
  t.same(refusalOf(entity(`{"id":"V1","x":{"metadata":{"m":{"value":${nested(51)}}}}}`)), tooDeep)
  t.same(refusalOf(entity(`{"id":"V1","x":${nested(51)}}`, 'keyValues')), tooDeep)
})

test('forbidden characters may stand in unrestricted text, in keys, and where the metadata says so [NGSIv2 context 4.1]', async (t) => {
  for (const attribute of [
    { type: 'TextUnrestricted', value: { k: ["it's <b>"] } },
    { value: 'a=b', metadata: { TextUnrestricted: { value: true } } },
    { value: { 'a=b': 1 } },
    { value: 'x', metadata: { m: { type: 'TextUnrestricted', value: 'a=b' } } },
    { value: 'x', metadata: { m: { value: { deep: 'a=b' } } } },
  ]) {
    t.equal(refusalOf(entity(withX(attribute))), undefined, JSON.stringify(attribute))
  }
})

test('types have their defaults, dates are instants, an ID is that of an instance [NGSIv2 context 2.2, 3.3, 14.3]', async (t) => {
  const read = atOnce(
    parseAttributeMembers(
      JSON.stringify({
        n: { value: 1.5 },
        s: { value: 'oak' },
        o: { value: {} },
        none: {},
        t: { type: 'DateTime', value: '1970-01-01T00:00:01.5Z' },
        max: { type: 'DateTime', value: { $max: '1970-01-01T00:00:02Z' } },
        i: { value: 1, metadata: { ID: { value: 'west' }, m: { type: 'DateTime', value: '1970-01-02' } } },
        plain: { value: 1, metadata: { ID: { value: 7 } } },
      }),
      'normalized',
    ),
  )
  t.same(read, {
    ok: true,
    value: [
      { name: 'n', instance: '', type: 'Number', value: 1.5, metadata: [] },
      { name: 's', instance: '', type: 'Text', value: 'oak', metadata: [] },
      { name: 'o', instance: '', type: 'StructuredValue', value: {}, metadata: [] },
      { name: 'none', instance: '', type: 'None', value: null, metadata: [] },
      { name: 't', instance: '', type: 'DateTime', value: 1.5, metadata: [] },
      { name: 'max', instance: '', type: 'DateTime', value: { $max: 2 }, metadata: [] },
      {
        name: 'i',
        instance: 'west',
        type: 'Number',
        value: 1,
        metadata: [{ name: 'm', type: 'DateTime', value: 86_400 }],
      },
      {
        name: 'plain',
        instance: '',
        type: 'Number',
        value: 1,
        metadata: [{ name: 'ID', type: 'Number', value: 7 }],
      },
    ],
  })
})

test('attributes alone have neither id nor type, and are not none [NGSIv2 context 8.5]', async (t) => {
  const refusal = (body: unknown) => refusalOf(parseAttributeMembers(JSON.stringify(body), 'normalized'))
  t.same(refusal({ id: 'V1' }), bad('entity id specified in payload'))
  t.same(refusal({ type: 'Vat' }), bad('entity type specified in payload'))
  t.same(refusal({}), bad('empty payload'))
})

test('one attribute, and one value as JSON or as text [NGSIv2 context 9.2, 9.3]', async (t) => {
  t.same(refusalOf(parseOneAttribute('{}', 'a&b')), bad('Invalid characters in attribute name'))
  t.same(refusalOf(parseOneAttribute('[1]', 'x')), malformed)
  const value = (body: string, isText: boolean) => {
    const read = atOnce(parseValueBody(body, isText))
    return read.ok ? read.value.value : JSON.parse(String(read.error.body)).description
  }
  t.same(value('{"type":1}', false), { type: 1 })
  t.same(value('[]', false), [])
  t.same(value('7', false), 'Neither JSON Object nor JSON Array for attribute::value')
  t.same(value('{', false), malformed.description)
  t.same(value('{"$inc":1,"$mul":2}', false), 'invalid combination of update operators')
  for (const [text, read] of [
    ['"elm"', 'elm'],
    ['"a"b\\n"', 'a"b\\n'],
    ['""', ''],
    ['TRUE', true],
    ['False', false],
    ['Null', null],
    ['-7.5e1', -75],
    ['+1', 1],
    ['"', 'Missing citation-mark at end of string'],
    ['"seven', 'Missing citation-mark at end of string'],
    ['seven', 'attribute value type not recognized'],
    ['tRUE', 'attribute value type not recognized'],
    ['1e999', 'attribute value type not recognized'],
    ['0x10', 'attribute value type not recognized'],
  ] as const) {
    t.same(value(text, true), read, text)
  }
})

test('what is wrong with a batch update, and with a notification [NGSIv2 context 11.1, 11.3]', async (t) => {
  const batch = (body: unknown) => refusalOf(parseBatch(JSON.stringify(body), 'normalized'))
  const items = (...entities: readonly unknown[]) => batch({ actionType: 'append', entities })
  t.same(batch({}), bad('empty payload'))
  t.same(batch({ actionType: 'append' }), bad('Invalid JSON payload, mandatory field /entities/ not found'))
  t.same(batch({ entities: [] }), bad('Invalid JSON payload, mandatory field /actionType/ not found'))
  t.same(
    batch({ actionType: 'append', entities: [{ id: 'V1' }], x: 1 }),
    bad('Unrecognized field in JSON payload: /x/'),
  )
  t.same(batch({ actionType: 'append', entities: {} }), bad('not a JSON array'))
  t.same(items(), bad('empty entities vector'))
  const wrongAction = 'invalid update action type: right ones are: append, appendStric, delete, replace, update'
  for (const actionType of [
    '',
    'appendstrict',
    'APPENDSTRICT',
    'AppendStrict',
    'append strict',
    'append_ſtrict',
    'upsert',
    7,
    null,
    ['append'],
  ])
    t.same(batch({ actionType, entities: [{ id: 'V1' }] }), bad(wrongAction))
  t.same(items(7), bad('entity is not a JSON object'))
  t.same(items({ type: 'Vat' }), bad('nor /id/ nor /idPattern/ present'))
  t.same(items({ id: 'V1', idPattern: '.*' }), bad('both /id/ and /idPattern/ present'))
  t.same(items({ id: '' }), bad('id and idPattern cannot be both empty at the same time'))
  t.same(items({ idPattern: '.*' }), { error: 'NotImplemented', description: 'NotImplemented' })
  const notified = (body: unknown) => refusalOf(parseNotified(JSON.stringify(body)))
  t.same(notified({}), bad('empty payload'))
  t.same(notified({ data: [] }), bad('invalid JSON payload, mandatory field /subscriptionId/ not found'))
  t.same(notified({ subscriptionId: 'x' }), bad('Invalid JSON payload, mandatory field /data/ not found'))
  t.same(notified({ subscriptionId: 7, data: [] }), bad('/subscriptionId/ must be a JSON string'))
  t.same(notified({ subscriptionId: 'x', data: {} }), bad('notification field /data/ must be a JSON array'))
  t.same(notified({ subscriptionId: 'x', data: [1] }), bad('notification data vector item must be a JSON object'))
  t.same(notified({ subscriptionId: 'x', data: [], more: 1 }), bad('Unrecognized field in JSON payload: /more/'))
})

test('a batch update takes the words of NGSIv1 in capitals, small letters or both [NGSIv2 context 11.1]', async (t) => {
  for (const [action, ...words] of [
    ['APPEND', 'append', 'APPEND', 'Append'],
    ['APPEND_STRICT', 'appendStrict', 'append_strict', 'APPEND_STRICT', 'Append_Strict'],
    ['UPDATE', 'update', 'UPDATE', 'uPdAtE'],
    ['REPLACE', 'replace', 'REPLACE', 'Replace'],
    ['DELETE', 'delete', 'DELETE', 'Delete'],
  ] as const) {
    for (const actionType of words) {
      const batch = atOnce(parseBatch(JSON.stringify({ actionType, entities: [{ id: 'V1' }] }), 'normalized'))
      t.equal(batch.ok && batch.value.action, action, actionType)
    }
  }
})

test('attributes are removed whatever their value, wherever the action stands [NGSIv2 context 3.4, 11.1]', async (t) => {
  const refusal = (entities: string, form: AttributeForm) => {
    const [before, after] = [
      `"actionType":"delete","entities":${entities}`,
      `"entities":${entities},"actionType":"delete"`,
    ]
    const appended = `"actionType":"delete","entities":${entities},"actionType":"append"`
    return [before, after, appended].map((body) => refusalOf(parseBatch(`{${body}}`, form)))
  }
  const expiration = bad('error processing date expiration attribute, see log traces')
  const noDate = bad('date has invalid format in attribute value')
  for (const [attribute, form, appended] of [
    ['"dateExpires":""', 'keyValues', expiration],
    ['"dateExpires":{}', 'normalized', expiration],
    ['"dateExpires":{"value":""}', 'normalized', expiration],
    ['"d":{"type":"DateTime","value":""}', 'normalized', noDate],
    ['"d":{"value":{"$inc":1,"y":2}}', 'normalized', bad('invalid combination of update operators')],
    ['"d":{"type":"geo:json","value":5}', 'normalized', bad(noGeoJson)],
  ] as const) {
    t.same(refusal(`[{"id":"V1",${attribute}}]`, form), [undefined, undefined, appended], attribute)
  }
  const forbidden = bad('Invalid characters in attribute value')
  t.same(refusal('[{"id":"V1","d":{"value":"<"}}]', 'normalized'), [forbidden, forbidden, forbidden])
})

test('every JSON value without forbidden characters is kept as it is', async () => {
  const text = fc.string({ maxLength: 6 }).map((any) => any.replace(/[<>"'=;()$]/g, '_'))
  const json = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom(null, true, false),
      fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => number + 0),
      text,
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(text, tie('value'), { maxKeys: 3, noNullPrototype: true }),
    ),
  })).value
  fc.assert(
    fc.property(json, (value) => {
      const body = JSON.stringify({ x: value })
      const read = atOnce(parseAttributeMembers(body, 'keyValues'))
      return read.ok && JSON.stringify({ x: read.value[0]?.value }) === body
    }),
  )
})
