import { test } from 'tap'
import { unbounded } from '../../src/model/context/step-budget.js'
import { type EntityInScope, namesOf } from '../../src/model/expression/scope.js'

const entity: EntityInScope = {
  ...{ id: 'Vat-3', type: 'Vat', service: 'plant', servicePath: '/hall', authToken: 'tok' },
  attributes: [
    { name: 'heat', value: () => 71.5, metadata: () => [['probe', 'top']] },
    { name: 'service', value: () => null, metadata: () => [] },
  ],
}

const lookingUp = (held: EntityInScope) => {
  const lookUp = namesOf(held)
  return (name: string) => lookUp(name, unbounded())
}

test('attributes, identification, and what came with the request are names', async (t) => {
  const lookUp = lookingUp(entity)
  for (const [name, value] of Object.entries({ heat: 71.5, id: 'Vat-3', type: 'Vat', service: null })) {
    t.equal(lookUp(name), value, name)
  }
  t.equal(lookUp('servicePath'), '/hall')
  t.equal(lookUp('authToken'), 'tok')
  t.strictSame(lookUp('metadata'), { heat: { probe: 'top' }, service: {} })
  for (const name of ['gone', 'constructor', '', 'probe']) t.equal(lookUp(name), undefined, name)
})

test('an attribute hides what came with the request, but neither identification nor metadata', async (t) => {
  const names = ['service', 'servicePath', 'authToken', 'id', 'type', 'metadata']
  const attributes = names.map((name) => ({ name, value: () => 'mine', metadata: () => [] }))
  const lookUp = lookingUp({ ...entity, attributes })
  t.strictSame(names.slice(0, 5).map(lookUp), ['mine', 'mine', 'mine', 'Vat-3', 'Vat'])
  t.strictSame(lookUp('metadata'), Object.fromEntries(names.map((name) => [name, {}])))
})
