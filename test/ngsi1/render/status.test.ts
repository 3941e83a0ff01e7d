import { test } from 'tap'
import type { ElementRefusal } from '../../../src/api/ngsi1/parse/check-element.js'
import { statusOf, statusOfRefusal } from '../../../src/api/ngsi1/render/status.js'
import type { EntityId, EntityType } from '../../../src/model/context/entity.js'
import type { UpdateAction, UpdateRefusal } from '../../../src/model/context/update.js'

const mentioned = 'entity: [Silo1, Silo] - offending attribute: N'
const badPlace = 'geo coordinates format error: here'
const place = { kind: 'coordinatesMalformed', name: 'N', value: 'here' } as const
const system = { kind: 'coordinateSystemUnknown', name: 'N', found: 'MARS' } as const
const twice = { kind: 'locationTwice', name: 'N', held: 'M' } as const
const mixed = { kind: 'instancesMixed', name: 'N' } as const

const rows: readonly (readonly [ElementRefusal | UpdateRefusal, UpdateAction, code: string, details?: string])[] = [
  [{ kind: 'attributeTwice', name: 'N' }, 'UPDATE', '422', 'duplicated attribute /N/'],
  [
    { kind: 'instancesMixedInRequest', name: 'N' },
    'APPEND_STRICT',
    '472',
    'action: APPEND_STRICT - entity: (Silo1, Silo) - offending attribute: N',
  ],
  [{ kind: 'patternInUpdate' }, 'UPDATE', '501'],
  [
    { kind: 'attributeEmpty', name: 'N' },
    'REPLACE',
    '422',
    'action: REPLACE - entity: [Silo1, Silo, false] - offending attribute: N - empty attribute not allowed in APPEND or UPDATE',
  ],
  [{ kind: 'keyTooLong' }, 'APPEND', '400', 'Too long entity id/type/servicePath combination'],
  [{ kind: 'entityUnknown' }, 'UPDATE', '404', 'Silo1'],
  [{ kind: 'attributeUnknown', name: 'N' }, 'UPDATE', '472', `action: UPDATE - ${mentioned}`],
  [{ kind: 'attributeUnknown', name: 'N' }, 'DELETE', '472', `action: DELETE - ${mentioned} - attribute not found`],
  [{ kind: 'attributesMissing' }, 'UPDATE', '404', 'Silo1'],
  [
    { kind: 'attributesExist', names: ['level', 'humidity'] },
    'APPEND_STRICT',
    '400',
    'one or more of the attributes in the request already exist: [ level, humidity ]',
  ],
  [mixed, 'APPEND', '472', `action: APPEND - ${mentioned} - attribute cannot be appended`],
  [mixed, 'APPEND_STRICT', '472', `action: APPEND - ${mentioned} - attribute cannot be appended`],
  [{ ...place, when: 'creation' }, 'APPEND', '472', badPlace],
  [
    { ...place, when: 'newAttribute' },
    'APPEND_STRICT',
    '472',
    `action: APPEND - ${mentioned} - error parsing location attribute for new attribute: ${badPlace}`,
  ],
  [
    { ...place, when: 'update' },
    'REPLACE',
    '472',
    `action: UPDATE - ${mentioned} - error parsing location attribute: ${badPlace}`,
  ],
  [{ ...system, when: 'creation' }, 'APPEND', '472', 'only WGS84 are supported, found: MARS'],
  [
    { ...system, when: 'update' },
    'UPDATE',
    '472',
    `action: UPDATE - ${mentioned} - only WGS84 is supported for location, found: [MARS]`,
  ],
  [
    { ...twice, when: 'creation' },
    'APPEND',
    '472',
    'You cannot use more than one geo location attribute when creating an entity',
  ],
  [
    { ...twice, when: 'newAttribute' },
    'APPEND',
    '472',
    `action: APPEND - ${mentioned} - attempt to define a geo location attribute [N] when another one has been previously defined [M]`,
  ],
]

for (const [refusal, action, code, details] of rows) {
  test(`${refusal.kind} in ${action} is ${code} ${details ?? ''}`, async (t) => {
    const status = statusOfRefusal(refusal, { action, id: 'Silo1' as EntityId, type: 'Silo' as EntityType })
    t.match(status, details === undefined ? { code } : { code, details })
    t.equal('details' in status, details !== undefined)
  })
}

test('an entity without type leaves nothing after the comma', async (t) => {
  const status = statusOfRefusal(
    { kind: 'attributeUnknown', name: 'N' },
    { action: 'UPDATE', id: 'Silo1' as EntityId, type: '' as EntityType },
  )
  t.equal(status.details, 'action: UPDATE - entity: [Silo1, ] - offending attribute: N')
})

test('a status has the phrase of its code, and details only when there is something to say', async (t) => {
  t.same(statusOf(200), { code: '200', reasonPhrase: 'OK' })
  t.same(statusOf(404, 'Silo7'), { code: '404', reasonPhrase: 'No context element found', details: 'Silo7' })
  t.same(statusOf(422).reasonPhrase, 'Invalid Modification')
  t.same(statusOf(472).reasonPhrase, 'request parameter is invalid/not allowed')
  t.same(statusOf(501).reasonPhrase, 'Not Implemented')
})
