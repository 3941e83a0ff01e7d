import { test } from 'tap'
import { RecentEntities } from '../../src/broker/front-end/recent-entities.js'
import { Versions } from '../../src/threads/shared-memory/versions.js'
import { id, tenant, versions } from '../given.js'
import { attribute, entity } from '../ngsi1/given.js'

const name = ' /# Silo1'
const group = Versions.groupOf(tenant, id('Silo1'))
const change = [{ tenant, entity: { id: id('Silo1') } }]
const silo = (level: string) => [entity('Silo1', 'Silo', attribute('level', level))]

test('what was read is at hand until it has changed', async (t) => {
  const [atHand, published] = [new RecentEntities(50_000), versions()]
  t.equal(atHand.get(name, group, published), undefined)
  const read = atHand.read(name, group, published, () => silo('1'))
  t.equal(atHand.get(name, group, published), read)
  published.begin([])
  published.end()
  t.equal(atHand.get(name, group, published), read)
  published.begin(change)
  published.end()
  t.equal(atHand.get(name, group, published), undefined)
  atHand.read(name, group, published, () => silo('2'))
  t.match(atHand.get(name, group, published), [{ attributes: [{ value: '2' }] }])
})

test('what changes while it is read is not at hand', async (t) => {
  const [atHand, published] = [new RecentEntities(50_000), versions()]
  atHand.read(name, group, published, () => {
    published.begin(change)
    published.end()
    return silo('1')
  })
  t.equal(atHand.get(name, group, published), undefined)
})

test('while it is changing it is read each time', async (t) => {
  const [atHand, published] = [new RecentEntities(50_000), versions()]
  atHand.read(name, group, published, () => silo('1'))
  published.begin(change)
  t.equal(atHand.get(name, group, published), undefined, 'others may see the change already')
  atHand.read(name, group, published, () => silo('1'))
  t.equal(atHand.get(name, group, published), undefined)
  published.end()
  atHand.read(name, group, published, () => silo('2'))
  t.match(atHand.get(name, group, published), [{ attributes: [{ value: '2' }] }])
})

test('that there is nothing is read each time', async (t) => {
  const [atHand, published] = [new RecentEntities(50_000), versions()]
  t.same(
    atHand.read(name, group, published, () => []),
    [],
  )
  t.equal(atHand.get(name, group, published), undefined)
})

test('what was read long ago makes room', async (t) => {
  const [atHand, published] = [new RecentEntities(50_000), versions()]
  for (let n = 0; n < 100; n += 1) atHand.read(`${n}`, group, published, () => silo(`${n}`))
  t.equal(atHand.get('0', group, published), undefined)
  t.match(atHand.get('99', group, published), [{ attributes: [{ value: '99' }] }])
})

test('large entities are at hand for as many bytes as there is room, not for as many ids', async (t) => {
  const [atHand, published] = [new RecentEntities(64 * 2 ** 20), versions()]
  const names = Array.from({ length: 200 }, (_, n) => `${n}`)
  for (const name of names) atHand.read(name, group, published, () => silo('x'.repeat(2 ** 20)))
  const held = names.filter((name) => atHand.get(name, group, published) !== undefined)
  t.ok(held.length > 0 && held.length <= 10, `${held.length} are at hand`)
})
