import { deepStrictEqual } from 'node:assert'
import fc from 'fast-check'
import { t as root, test } from 'tap'
import { applyUpdate } from '../src/model/context/apply.js'
import {
  type Attribute,
  compareBytes,
  type Entity,
  type EntityId,
  type EntityType,
} from '../src/model/context/entity.js'
import { compileQuery } from '../src/model/context/match.js'
import { type Query, type Selector, shownAttributes } from '../src/model/context/query.js'
import type { GivenAttribute, UpdateAction, UpdateCommand, UpdateItem } from '../src/model/context/update.js'
import type { Sequence } from '../src/threads/shared-memory/sequences.js'
import { at, everywhere, id as idOf, origin, path as pathOf, query, type as typeOf } from './given.js'
import { RunningBroker } from './running.js'
import { runs } from './runs.js'
import { type Client, tenantClient } from './wire/client.js'

const broker = await RunningBroker.start(root, ['-multiservice', '-partitions', '3', '-httpThreads', '2'])

/** One thing that is done to the broker; `way` is the interface by which an update comes. */
type Step =
  | {
      readonly kind: 'update'
      readonly way: 'standard' | 'convenience'
      readonly action: UpdateAction
      readonly id: string
      readonly type: string
      readonly path: string
      readonly attributes: readonly GivenAttribute[]
    }
  | { readonly kind: 'restart' }

const attribute: fc.Arbitrary<GivenAttribute> = fc.record({
  name: fc.constantFrom('a', 'b', 'level', 'é'),
  instance: fc.constantFrom('', '', 'x', 'y'),
  type: fc.constantFrom('', 'number', 'text'),
  value: fc.constantFrom('', '1', '2', 'full', ['1', { k: '2' }], {}),
  metadata: fc.constantFrom([], [{ name: 'unit', type: 't', value: 'cm' }], [{ name: 'by', type: '', value: 'me' }]),
})

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 24,
    arbitrary: fc.record({
      kind: fc.constant('update' as const),
      way: fc.constantFrom('standard' as const, 'convenience' as const),
      action: fc.constantFrom<UpdateAction[]>(
        'APPEND',
        'APPEND',
        'APPEND',
        'APPEND_STRICT',
        'UPDATE',
        'REPLACE',
        'DELETE',
      ),
      id: fc.constantFrom('e1', 'e2', 'e3', 'f1'),
      type: fc.constantFrom('', 'A', 'B'),
      path: fc.constantFrom('/', '/', '/p'),
      attributes: fc.uniqueArray(attribute, { maxLength: 3, selector: ({ name }) => name }),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'restart' as const }) },
)

/** What the broker should hold: every rule is that of the core, the storage is a list. */
class Model {
  entities: readonly Entity[] = []
  #sequences = 0

  /** What is answered: the code of every item, in order. */
  update({ action, id, type, path, attributes }: Extract<Step, { kind: 'update' }>): readonly boolean[] {
    this.#sequences += 1
    const command: UpdateCommand = {
      kind: 'update',
      tenant: query().tenant,
      path: pathOf(path),
      id: idOf(id),
      type: type === '' ? undefined : typeOf(type),
      action,
      attributes,
      sequence: this.#sequences as Sequence,
      time: at(this.#sequences),
      origin,
    }
    const held = this.entities.filter((entity) => entity.id === command.id && entity.path === command.path)
    const { reply, effects } = applyUpdate(held, command)
    for (const effect of effects) {
      const others = this.entities.filter((entity) => entity.sequence !== effect.entity.sequence)
      this.entities =
        effect.kind === 'remove' ? others : [...others, effect.entity].sort((a, b) => a.sequence - b.sequence)
    }
    return [...reply.items, ...reply.missing].map(isDone)
  }

  found(wanted: Query): readonly Entity[] {
    return this.entities.filter(compileQuery(wanted))
  }
}

function isDone({ refusal }: UpdateItem): boolean {
  return refusal === undefined
}

test('after any updates and restarts, every read shows what the rules say', async (t) => {
  const property = fc.asyncProperty(fc.array(step, { minLength: 8, maxLength: 40 }), async (steps) => {
    const client = tenantClient(broker)
    const model = new Model()
    for (const [n, each] of steps.entries()) {
      if (each.kind === 'restart') {
        await broker.end('SIGKILL')
        await broker.run()
      } else {
        const expected = model.update(each)
        deepStrictEqual(await done(client, each, expected.length), expected)
      }
      if (each.kind === 'restart' || n % 8 === 0) await compare(client, model)
    }
    await compare(client, model)
  })
  await fc.assert(property, { numRuns: runs(20), endOnFailure: true })
  t.pass('the runs agree with the model')
})

interface UpdateResponse {
  readonly contextResponses?: readonly { readonly statusCode: { readonly code: string } }[]
  readonly errorCode?: { readonly code: string }
  readonly code?: string
}

/** Carries a step out; gives which of the items of its response are done. A convenience operation may show but one. */
async function done(
  client: Client,
  step: Extract<Step, { kind: 'update' }>,
  items: number,
): Promise<readonly boolean[]> {
  const { action, id, type, path, attributes } = step
  const headers = { 'Fiware-ServicePath': path }
  const given = attributes.map(written)
  const verb = step.way === 'convenience' ? convenient(step) : undefined
  const { json } = await (verb === undefined
    ? client.send(
        'POST',
        '/v1/updateContext',
        { contextElements: [{ id, type, attributes: given }], updateAction: action },
        headers,
      )
    : client.send(
        verb,
        `/v1/contextEntities/${type === '' ? '' : `type/${type}/id/`}${id}`,
        verb === 'DELETE' ? undefined : { attributes: given },
        headers,
      ))
  const response = json as UpdateResponse
  if (response.contextResponses) return response.contextResponses.map(({ statusCode }) => statusCode.code === '200')
  const isOk = (response.errorCode?.code ?? response.code) === '200'
  return Array.from({ length: items }, () => isOk)
}

/** The verb of the convenience operation that does the same to an entity; there is none for some. */
function convenient({ action, attributes }: Extract<Step, { kind: 'update' }>): string | undefined {
  if (action === 'APPEND') return 'POST'
  if (action === 'UPDATE') return 'PUT'
  return action === 'DELETE' && attributes.length === 0 ? 'DELETE' : undefined
}

function written({ name, instance, type, value, metadata }: GivenAttribute): unknown {
  const metadatas = instance === '' ? metadata : [...metadata, { name: 'ID', type: 'string', value: instance }]
  return { name, type, value, metadatas }
}

const any: Selector['id'] = { kind: 'any' }
const exact = (id: string, type?: string): Selector => ({
  id: { kind: 'exact', id: id as EntityId },
  type: type as EntityType | undefined,
})
const pattern = (text: string, type?: string): Selector => ({
  id: { kind: 'pattern', pattern: text },
  type: type as EntityType | undefined,
})

/** By id, type, pattern, attributes, path and page. */
const queries: readonly Partial<Query>[] = [
  { selectors: [{ id: any, type: undefined }], limit: 1000 },
  { selectors: [exact('e1'), exact('f1', 'A')] },
  { selectors: [pattern('e', 'B')] },
  { selectors: [pattern('1$'), exact('e2')], attributes: ['level', 'a'] },
  { selectors: [pattern('.')], attributes: ['é'], paths: [{ path: pathOf('/p'), below: false }] },
  { selectors: [pattern('.')], paths: [{ path: pathOf('/'), below: false }] },
  { selectors: [pattern('.')], limit: 2, offset: 1 },
  { selectors: [pattern('.')], limit: 3, offset: 4 },
]

async function compare(client: Client, model: Model): Promise<void> {
  for (const wanted of queries.map((more) => query(more))) {
    const all = model.found(wanted)
    const page = all.slice(wanted.offset, wanted.offset + wanted.limit)
    const response = await client.query(
      bodyOf(wanted),
      `?details=on&limit=${wanted.limit}&offset=${wanted.offset}`,
      headersOf(wanted),
    )
    deepStrictEqual(
      response,
      page.length === 0 ? nothing(all.length, wanted.offset) : results(page, all.length, wanted),
    )
  }
  const types = await client.send('GET', '/v1/contextTypes?limit=1000')
  deepStrictEqual(types.json, typesOf(model.entities))
}

function bodyOf({ selectors, attributes }: Query): unknown {
  const entities = selectors.map(({ id, type = '' }) => {
    if (id.kind === 'exact') return { id: id.id, type }
    return { id: id.kind === 'any' ? '.*' : id.pattern, type, isPattern: 'true' }
  })
  return { entities, attributes }
}

function headersOf({ paths }: Query): Record<string, string> {
  const [range] = paths
  return paths === everywhere || range === undefined ? {} : { 'Fiware-ServicePath': range.path }
}

function nothing(count: number, offset: number): unknown {
  const status = { code: '404', reasonPhrase: 'No context element found' }
  if (count === 0) return { errorCode: status }
  return { errorCode: { ...status, details: `Number of matching entities: ${count}. Offset is ${offset}` } }
}

function results(page: readonly Entity[], count: number, wanted: Query): unknown {
  const contextResponses = page.map((entity) => {
    const attributes = shownAttributes(entity, wanted.attributes).map(read)
    const { id, type } = entity
    const contextElement = { type, isPattern: 'false', id, ...(attributes.length === 0 ? {} : { attributes }) }
    return { contextElement, statusCode: { code: '200', reasonPhrase: 'OK' } }
  })
  return { contextResponses, errorCode: { code: '200', reasonPhrase: 'OK', details: `Count: ${count}` } }
}

function read({ name, type, value, instance, metadata }: Attribute): unknown {
  const metadatas = [...(instance === '' ? [] : [{ name: 'ID', type: 'string', value: instance }]), ...metadata]
  return { name, type, value, ...(metadatas.length === 0 ? {} : { metadatas }) }
}

function typesOf(entities: readonly Entity[]): unknown {
  const names = [...new Set(entities.map(({ type }) => type))].sort(
    (a, b) => Number(a === '') - Number(b === '') || compareBytes(a, b),
  )
  if (names.length === 0) return { statusCode: { code: '404', reasonPhrase: 'No context element found' } }
  const types = names.map((name) => {
    const held = entities.filter(({ type }) => type === name).flatMap(({ attributes }) => attributes)
    const attributes = [...new Set(held.map((one) => one.name))].sort(compareBytes)
    return { name, ...(attributes.length === 0 ? {} : { attributes }) }
  })
  return { types, statusCode: { code: '200', reasonPhrase: 'OK' } }
}
