import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'tap'
import { ngsiShown } from '../../../src/api/ngsi2/render/template-shown.js'
import type { Value } from '../../../src/model/context/entity.js'
import { isObject, shownType } from '../../../src/model/context/value.js'
import { templateText } from '../../../src/model/expression/json-template.js'

type Members = { readonly [name: string]: Value }

function shownOf(ngsi: Members): string {
  return ngsiShown(templateText(ngsi))
}

test('an attribute of a template is shown with its type, or with that of its value', async (t) => {
  const ngsi = {
    ...{ text: { value: '${a}' }, number: { value: -1 }, nothing: { value: null }, flag: { value: false } },
    ...{ list: { value: [1] }, object: { value: { k: '"' } }, typed: { type: 'Level "1"', value: 1 } },
    ...{ untyped: { type: '', value: 1 }, empty: {} },
  }
  t.same(JSON.parse(shownOf(ngsi)), {
    ...{ text: { type: 'Text', value: '${a}' }, number: { type: 'Number', value: -1 } },
    ...{ nothing: { type: 'None', value: null }, flag: { type: 'Boolean', value: false } },
    ...{ list: { type: 'StructuredValue', value: [1] }, object: { type: 'StructuredValue', value: { k: '"' } } },
    ...{ typed: { type: 'Level "1"', value: 1 }, untyped: { type: 'Number', value: 1 } },
    empty: { type: 'None', value: null },
  })
})

test('an empty id or type of a template is not shown, and neither are empty metadata', async (t) => {
  t.equal(shownOf({ id: '', type: '', a: { value: 1, metadata: {} } }), '{"a":{"type":"Number","value":1}}')
  t.equal(shownOf({ id: 'x', type: '${b}' }), '{"id":"x","type":"${b}"}')
  const metadata = { evalPriority: { value: 1 } }
  t.same(JSON.parse(shownOf({ a: { value: 1, metadata } })), {
    a: { type: 'Number', value: 1, metadata: { evalPriority: { type: 'Number', value: 1 } } },
  })
})

/** The rule itself, on the template as values. */
function expected(ngsi: Members): Value {
  const typed = (given: Value | undefined): Members => {
    const { type = '', value = null } = given !== undefined && isObject(given) ? given : {}
    return { type: shownType({ type: typeof type === 'string' ? type : '', value }), value }
  }
  return Object.fromEntries(
    Object.entries(ngsi).map(([name, given]) => {
      const metadata = isObject(given) ? given['metadata'] : undefined
      if (metadata === undefined || !isObject(metadata) || Object.keys(metadata).length === 0)
        return [name, typed(given)]
      const elements = Object.entries(metadata).map(([element, each]) => [element, typed(each)])
      return [name, { ...typed(given), metadata: Object.fromEntries(elements) }]
    }),
  )
}

test('any template is shown by this rule, whatever characters its names and values have', async () => {
  const value: fc.Arbitrary<Value> = fc.jsonValue({ maxDepth: 3 }).map((made) => JSON.parse(JSON.stringify(made)))
  const name = fc.oneof(fc.string(), fc.constantFrom('a"b', 'c\\', '7', '{', ':', ',')).map((text) => `n${text}`)
  const element = fc.record({ value, type: fc.string() }, { requiredKeys: [] })
  const metadata = fc.dictionary(name, element, { maxKeys: 3 })
  const attribute = fc.record({ type: fc.string(), value, metadata }, { requiredKeys: [] })
  fc.assert(
    fc.property(fc.dictionary(name, attribute, { maxKeys: 4 }), (ngsi) => {
      const given: Members = JSON.parse(JSON.stringify(ngsi))
      assert.deepEqual(JSON.parse(shownOf(given)), JSON.parse(JSON.stringify(expected(given))))
    }),
    { numRuns: 200 },
  )
})
