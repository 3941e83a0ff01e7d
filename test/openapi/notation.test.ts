import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'
import { parse } from 'yaml'

const module = fileURLToPath(new URL('../../../scripts/openapi.mjs', import.meta.url))
const { openApi, schemaOf } = await import(module)
const pages = fileURLToPath(new URL('../../../docs/openapi', import.meta.url))

test('a schema is written shorter than JSON Schema', async (t) => {
  const named = { $ref: '#/components/schemas/Id' }
  const rows: readonly (readonly [given: unknown, schema: object])[] = [
    ['$Id', named],
    ['integer', { type: 'integer' }],
    ['string: Where: there.', { type: 'string', description: 'Where: there.' }],
    [['$Id'], { type: 'array', items: named }],
    [
      { items: 'string', minItems: 1 },
      { type: 'array', items: { type: 'string' }, minItems: 1 },
    ],
    [{ anyOf: ['$Id', 'null'] }, { anyOf: [named, { type: 'null' }] }],
    [{ additionalProperties: '$Id' }, { type: 'object', additionalProperties: named }],
    [
      { closed: { id: '$Id', 'text?': 'string' } },
      {
        ...{ type: 'object', required: ['id'], additionalProperties: false },
        properties: { id: named, text: { type: 'string' } },
      },
    ],
    [{ open: { 'text?': 'string' } }, { type: 'object', properties: { text: { type: 'string' } } }],
  ]
  for (const [given, schema] of rows) t.same(schemaOf(given), schema)
  t.throws(() => schemaOf('sting'), /docs\/openapi: there is no schema sting/)
})

test('a name that the description does not have ends the build, and says which', async (t) => {
  for (const [from, to, message] of [
    ['parameters: [id, type]', 'parameters: [id, tipe]', /there is no parameter tipe/],
    ['use: read', 'use: reed', /listEntities has no use reed/],
    ['errors: [409, 422]', 'errors: [410]', /createEntity has no name for 410/],
  ] as const) {
    const folder = t.testdir()
    cpSync(pages, folder, { recursive: true })
    const file = join(folder, 'ngsi2.yaml')
    const text = readFileSync(file, 'utf8')
    writeFileSync(file, text.replace(from, to))
    t.throws(() => openApi(folder, '1.0.0', parse), message)
  }
})
