import { spawnSync } from 'node:child_process'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'
import { referenceResources } from '../../src/api/management/reference.js'
import { ngsi1Resources } from '../../src/api/ngsi1/routes.js'
import { parseBatch } from '../../src/api/ngsi2/parse/entities.js'
import type { Resource } from '../../src/broker/operations/api.js'
import { needsTrust, notFromHere } from '../../src/http/management-access.js'
import { atOnce } from '../../src/slices.js'
import { givenInterfaces } from '../http/given.js'
import { management } from '../management/given.js'
import { plainOptions, scripted } from '../ngsi1/given.js'
import { described, describedComponents, exampleIn, misfit, openApiFile, responseTo } from './given-description.js'

/** Method and path, whatever the names of placeholders are. */
function row(method: string, path: string): string {
  return `${method.toUpperCase()} ${path.replace(/\{\w+\}/g, '{}')}`
}

function rowsOf(resources: readonly Resource[]): readonly string[] {
  return resources.flatMap(({ pattern, aliases = [], operations }) =>
    [pattern, ...aliases].flatMap((path) => Object.keys(operations).map((verb) => row(verb, path))),
  )
}

test('every method of every path is described, and nothing more is', async (t) => {
  const resources = [
    ...ngsi1Resources({ broker: scripted(), options: plainOptions }),
    ...givenInterfaces([]).ngsi2.resources,
    ...management().resources,
    ...referenceResources(),
  ]
  const rows = described.flatMap(({ path, aliases, method }) => [path, ...aliases].map((each) => row(method, each)))
  t.ok(rows.length > 150, 'there are paths')
  t.same(rows.toSorted(), rowsOf(resources).toSorted())
})

test('every operation has a name of its own', async (t) => {
  t.equal(new Set(described.map(({ operation }) => operation.operationId)).size, described.length)
})

test('it is a document of OpenAPI 3.1', async (t) => {
  const validator = dirname(fileURLToPath(import.meta.resolve('@seriousme/openapi-schema-validator')))
  const { stdout, stderr } = spawnSync(process.execPath, [join(validator, 'bin/validate-api-cli.js'), openApiFile], {
    encoding: 'utf8',
  })
  t.match(stdout, /"valid": true/, `${stdout}${stderr}`)
})

test('every example fits its schema', async (t) => {
  let examples = 0
  const check = (what: string, content: Parameters<typeof exampleIn>[0]): void => {
    const [type, example] = exampleIn(content) ?? []
    const schema = content?.[type ?? '']?.schema
    if (schema === undefined || example === undefined) return
    examples += 1
    t.equal(misfit(schema, example), '', what)
  }
  for (const each of described) {
    const { operation } = each
    check(`body of ${operation.operationId}`, operation.requestBody?.content)
    for (const status of Object.keys(operation.responses)) {
      check(`${status} of ${operation.operationId}`, responseTo(each, Number(status))?.content)
    }
  }
  t.ok(examples > 100, 'there are examples')
})

test('what is for requests from this machine without a token is described so, with the 403 that others get', async (t) => {
  const refusalOf = ({ operation: { responses } }: (typeof described)[number]) => JSON.stringify(responses['403'])
  const protectedOnes = described.filter(({ path, method }) => needsTrust(path, method.toUpperCase()))
  t.ok(protectedOnes.length > 15, 'there are some')
  const isReset = ({ path }: (typeof described)[number]) => path === '/admin/metrics'
  for (const each of described) {
    const isProtected = protectedOnes.includes(each) || isReset(each)
    t.equal(
      refusalOf(each) === '{"$ref":"#/components/responses/NotFromHere"}',
      isProtected,
      `${each.method} ${each.path}`,
    )
  }
  const [, example] = exampleIn(describedComponents.responses['NotFromHere']?.content) ?? []
  t.strictSame(example, { error: 'Forbidden', description: notFromHere })
})

test('the words of a batch update that are described are those that the broker takes', async (t) => {
  const words = ['append', 'appendStrict', 'append_strict', 'APPEND_STRICT', 'Update', 'appendstrict', 'upsert', '']
  const { Ngsi2Update } = describedComponents.schemas
  const { actionType = {} } = Ngsi2Update?.properties ?? {}
  for (const word of words) {
    const taken = atOnce(parseBatch(JSON.stringify({ actionType: word, entities: [{ id: 'V1' }] }), 'normalized')).ok
    t.equal(misfit(actionType, word) === '', taken, word)
  }
})

test('every operation shows what it gives, unless that is a page or an archive', async (t) => {
  for (const each of described) {
    for (const status of Object.keys(each.operation.responses).filter((status) => status.startsWith('2'))) {
      const { content } = responseTo(each, Number(status)) ?? {}
      if (content === undefined || 'text/html' in content || 'application/x-tar' in content) continue
      t.ok(exampleIn(content), `${status} of ${each.operation.operationId}`)
    }
  }
})

test('a body without an example, and a placeholder without one, would leave an operation untried', async (t) => {
  for (const { operation, parameters } of described) {
    if (operation.requestBody !== undefined) t.ok(exampleIn(operation.requestBody.content), operation.operationId)
    for (const { name, in: place, example } of parameters) {
      if (place === 'path') t.ok(example, `${operation.operationId}: ${name}`)
    }
  }
})
