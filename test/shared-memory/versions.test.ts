import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'tap'
import type { EntityId, Tenant } from '../../src/model/context/entity.js'
import { Versions } from '../../src/threads/shared-memory/versions.js'
import { id, tenant, versions } from '../given.js'

const other = 'other' as Tenant

test('every commit is counted, and every entity that it changed counts in its group', async () => {
  const change = fc.record({ tenant: fc.constantFrom(tenant, other), id: fc.string({ minLength: 1 }).map(id) })
  fc.assert(
    fc.property(fc.array(fc.array(change)), (commits) => {
      const written = versions()
      const expected = new Map<number, number>()
      for (const changes of commits) {
        written.begin(changes.map(({ tenant: of, id: name }) => ({ tenant: of, entity: { id: name } })))
        assert.equal(written.commits, undefined)
        for (const { tenant: of, id: name } of changes) {
          assert.equal(written.endedChangesOf(Versions.groupOf(of, name)), undefined)
        }
        written.end()
        for (const { tenant: of, id: name } of changes) {
          const group = Versions.groupOf(of, name)
          expected.set(group, (expected.get(group) ?? 0) + 1)
        }
      }
      assert.equal(written.commits, commits.length)
      for (const [group, count] of expected) {
        assert.equal(written.changesOf(group), count)
        assert.equal(written.endedChangesOf(group), count)
      }
    }),
  )
})

test('other threads see the versions in the same memory', async (t) => {
  const memory = Versions.memory()
  const group = Versions.groupOf(tenant, id('Silo1'))
  const writer = new Versions(memory)
  writer.begin([{ tenant, entity: { id: id('Silo1') } }])
  t.equal(new Versions(memory).commits, undefined)
  t.equal(new Versions(memory).changesOf(group), 1)
  writer.end()
  t.equal(new Versions(memory).commits, 1)
  t.equal(new Versions(memory).changesOf(group), 1)
})

test('ids are spread over the groups, so that one change invalidates few others', async (t) => {
  const groups = new Set<number>()
  for (let n = 0; n < 1000; n += 1) groups.add(Versions.groupOf(tenant, `Device-${n}` as EntityId))
  t.ok(groups.size > 980, `${groups.size}`)
})

test('a new thread invalidates everything', async (t) => {
  const all = versions()
  const groups = ['a', 'b', 'c'].map((name) => Versions.groupOf(tenant, id(name)))
  const before = groups.map((group) => all.changesOf(group))
  all.begin([{ tenant, entity: { id: id('a') } }])
  all.invalidateAll()
  t.equal(all.commits, 2)
  for (const [at, group] of groups.entries()) {
    t.not(all.changesOf(group), before[at])
    t.equal(all.endedChangesOf(group), all.changesOf(group), 'a commit that the last thread began is over')
  }
})
