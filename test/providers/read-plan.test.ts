import { test } from 'tap'
import { RequestReads } from '../../src/broker/front-end/confirmed-reads.js'
import type { AskableEntity } from '../../src/broker/providers/query-plan.js'
import { ReadPlan } from '../../src/broker/providers/read-plan.js'
import type { EntityId, EntityType } from '../../src/model/context/entity.js'
import { err, ok } from '../../src/result.js'
import { query, tenant, waiting } from '../given.js'
import { scripted } from '../ngsi1/given.js'
import { registered } from '../ngsi1/given-providers.js'

const partitions = 4
const count = 40

function partitionOf(_tenant: unknown, id: EntityId): number {
  return Number(id.slice('Street-'.length)) % partitions
}

/** The plan of a query of registered entities of which none is on the page, and what the owners of partitions are asked. */
function givenPlan(isConfirmed = true) {
  const requests: number[][] = []
  const confirm = async (which: Iterable<number>) => {
    requests.push([...which])
    return isConfirmed ? ok(undefined) : err({ kind: 'notConfirmed' } as const)
  }
  const reads = () =>
    new RequestReads({ tenant, readers: { partitionOf }, confirmed: { confirm }, held: async () => ok([]) })
  const ids = Array.from({ length: count }, (_, at) => `Street-${at}` as EntityId)
  const index = registered(...ids.map((id) => ({ id, provider: 'http://p.example' })))
  const selectors = ids.map((id) => ({ id: { kind: 'exact', id } as const, type: undefined }))
  const plan = new ReadPlan(
    scripted({ reads }),
    index,
    {
      ...{ form: 'ngsi1', query: query({ selectors }), page: { entities: [], count: 0 } },
      ...{ names: [], client: waiting, limit_ms: 60_000 },
    },
    1000,
  )
  return { plan, requests }
}

async function askableOf(plan: ReadPlan): Promise<readonly AskableEntity[]> {
  const askable = await plan.entities()
  if (!askable.ok) throw new Error(askable.error.kind)
  return askable.value
}

test('the owner of each partition is asked once for all entities of a request', async (t) => {
  const { plan, requests } = givenPlan()
  const askable = await askableOf(plan)
  t.equal(askable.length, count)
  t.same(requests, [], 'nobody is asked before something is read')
  for (const entity of askable) t.ok((await plan.adding(entity)).ok)
  t.same(
    requests.map((which) => which.toSorted()),
    [[0, 1, 2, 3]],
  )
  t.ok((await plan.heldHere({ id: 'Street-41' as EntityId, type: 'Street' as EntityType })).ok)
  t.equal(requests.length, 1, 'what a provider names lies in a partition that was asked for')
})

test('an owner that cannot be asked is asked again for the next entity', async (t) => {
  const { plan, requests } = givenPlan(false)
  const askable = await askableOf(plan)
  for (const entity of askable.slice(0, 2)) {
    t.match(await plan.adding(entity), { ok: false, error: { kind: 'notConfirmed' } })
  }
  t.same(
    requests.map((which) => which.length),
    [4, 1],
  )
})
