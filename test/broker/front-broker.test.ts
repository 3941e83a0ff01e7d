import { test } from 'tap'
import { FrontBroker } from '../../src/broker/front-end/front-broker.js'
import type { EntityId, ServicePath } from '../../src/model/context/entity.js'
import { err, ok } from '../../src/result.js'
import { SequenceCounter } from '../../src/threads/shared-memory/sequences.js'
import { everywhere, id, silentLog, tenant, type, waiting } from '../given.js'
import { entity, scripted } from '../ngsi1/given.js'

/** A front end of one of several nodes with four partitions, which holds these entities; each id says its partition. */
function givenFront(...held: readonly (readonly [id: string, type: string, path: string])[]) {
  const requests: number[][] = []
  const responses = { confirmed: true }
  const entities = held.map(([id, type, path]) => ({ ...entity(id, type), path: path as ServicePath }))
  const partitionOf = (_: unknown, id: EntityId): number => Number(id.slice(0, 1))
  const elsewhere = async () => err({ kind: 'queryTooCostly' } as const)
  const { subscriptions, registry, listening } = scripted()
  const broker = new FrontBroker({
    ...{ subscriptions, registry, listening, log: silentLog, mailboxes: [], threads: [] },
    sequences: SequenceCounter.after(0),
    timing: { timingOn: false, stage: () => {} },
    storageFull: () => false,
    readers: {
      entities: async (_tenant, _paths, id) => entities.filter((each) => each.id === id),
      recentEntities: () => undefined,
      query: elsewhere,
      state: elsewhere,
      partitionOf,
      partitionsOf: () => [0, 1, 2, 3],
    },
    queries: { page: elsewhere, state: elsewhere, types: elsewhere, view: elsewhere },
    confirmed: {
      isConfirmed: () => false,
      confirm: async (partitions) => {
        requests.push([...partitions])
        return responses.confirmed ? ok(undefined) : err({ kind: 'notConfirmed' })
      },
    },
  })
  return { broker, requests, responses }
}

test('the owners of the partitions of many entities are asked once, and each of them once', async (t) => {
  const { broker, requests, responses } = givenFront(
    ['0a', 'Silo', '/x'],
    ['0a', 'Silo', '/y'],
    ['0a', 'Tank', '/z'],
    ['2b', 'Tank', '/x'],
  )
  const named = ['0a', '0a', '2b', '2c', '0d'].map((text) => ({ id: id(text), type: type('Silo') }))
  const found = await broker.pathsOf(tenant, everywhere, [...named, { id: id('0a'), type: undefined }], waiting)
  t.same(found, ok([['/x', '/y'], ['/x', '/y'], [], [], [], ['/x', '/y', '/z']]))
  t.same(requests, [[0, 2]])
  responses.confirmed = false
  t.match(await broker.pathsOf(tenant, everywhere, named, waiting), { ok: false, error: { kind: 'notConfirmed' } })
  t.same(await broker.pathsOf(tenant, everywhere, [], waiting), ok([]), 'nothing is to be asked about nothing')
})
