import fc from 'fast-check'
import { test } from 'tap'
import {
  attributesAsValues,
  attributesInEntity,
  type VisibleAttribute,
} from '../../../src/api/ngsi2/render/entity-text.js'
import { MemberTexts } from '../../../src/api/ngsi2/render/member-texts.js'
import { compareBytes } from '../../../src/model/context/entity.js'

const vat = { id: 'Vat1', type: 'Vat' }

function visible(name: string, value: number): VisibleAttribute {
  return { name, type: 'Number', value, metadata: [] }
}

function byName(attributes: readonly VisibleAttribute[]): readonly VisibleAttribute[] {
  return attributes.toSorted((a, b) => compareBytes(a.name, b.name))
}

const attributes = fc
  .uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'é', '😀', 'dateExpires', 'z'))
  .map((names) => names.map(visible))

test('what is laid upon an entity stands where it would stand had all been rendered together', async () => {
  fc.assert(
    fc.property(attributes, attributes, fc.constantFrom('normalized', 'keyValues', 'values'), (held, laid, form) => {
      const kept = held.filter(({ name }) => laid.every((other) => other.name !== name))
      const all = byName([...kept, ...laid]).filter(({ name }) => name !== 'dateExpires')
      const together = form === 'values' ? attributesAsValues(all) : attributesInEntity(vat, all, form)
      return new MemberTexts(byName(held), form).with(vat, laid) === together
    }),
  )
})

test('the attributes of an entity are rendered once, however many templates are laid upon it', async (t) => {
  let reads = 0
  const counted = {
    ...visible('a', 1),
    get value() {
      reads += 1
      return 1
    },
  }
  const texts = new MemberTexts([counted, visible('b', 2)], 'keyValues')
  for (let template = 0; template < 100; template += 1) {
    t.equal(texts.with(vat, [visible('c', template)]), `{"id":"Vat1","type":"Vat","a":1,"b":2,"c":${template}}`)
  }
  t.equal(reads, 1)
})
