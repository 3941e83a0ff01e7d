import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'tap'
import { applyUpdate } from '../../../src/model/context/apply.js'
import type { Entity, Value } from '../../../src/model/context/entity.js'
import { type EntityLimits, noLimits } from '../../../src/model/context/entity-size.js'
import { LargeEntity } from '../../../src/model/context/large/large-entity.js'
import type { GivenAttribute, UpdateCommand, UpdateTerms } from '../../../src/model/context/update.js'
import { command, type } from '../../given.js'

const anyScalar: fc.Arbitrary<Value> = fc.constantFrom<Value>('1', '2', 3, 4, true, null)
const anyValue: fc.Arbitrary<Value> = fc.oneof(
  anyScalar,
  fc.array(anyScalar, { maxLength: 5 }),
  fc.dictionary(fc.constantFrom('k', 'l', '1', '0'), anyScalar, { maxKeys: 3 }),
  fc.constantFrom<Value>('1, 2', { type: 'Point', coordinates: [1, 2] }, { type: 'Point', coordinates: [9, 2] }),
)
const operators = ['$inc', '$min', '$max', '$push', '$addToSet', '$pull', '$pullAll', '$set', '$unset'] as const
const anyOperation: fc.Arbitrary<Value> = fc.oneof(
  fc.tuple(fc.constantFrom(...operators), anyValue).map(([operator, value]) => ({ [operator]: value })),
  fc
    .tuple(
      fc.constantFrom('$push', '$addToSet'),
      fc.array(anyScalar, { maxLength: 3 }),
      fc.integer({ min: -4, max: 4 }),
    )
    .map(([operator, $each, $position]) => ({ [operator]: operator === '$push' ? { $each, $position } : { $each } })),
  fc.tuple(anyValue, anyValue).map(([$set, $unset]) => ({ $set, $unset })),
)
const anyName = fc.constantFrom('a', 'b', 'c', 'é', '\u{1f600}', '\uffee')
const anyMetadata = (name: fc.Arbitrary<string>) => fc.record({ name, type: fc.constantFrom('', 't'), value: anyValue })
const common = { name: anyName, instance: fc.constantFrom('', '', 'i', 'j') }
const ofNgsi1: fc.Arbitrary<GivenAttribute> = fc.record(
  {
    ...common,
    metadata: fc.array(anyMetadata(anyName), { maxLength: 3 }),
    type: fc.constantFrom('', 't', 'u', 'geo:point'),
    value: fc.oneof(fc.constantFrom('1', '2', '3, 4'), fc.constant({ k: ['1'] })),
    location: fc.constantFrom(undefined, undefined, 'WGS84', 'EPSG'),
  },
  { requiredKeys: ['name', 'instance', 'type', 'metadata'] },
)
const ofNgsi2: fc.Arbitrary<GivenAttribute> = fc.record({
  ...common,
  metadata: fc.array(anyMetadata(fc.oneof(anyName, fc.constantFrom('ID', 'location'))), { maxLength: 3 }),
  type: fc.constantFrom('Number', 'StructuredValue', 'geo:json', 'geo:point', 'DateTime'),
  value: fc.oneof(anyValue, anyOperation),
})
const anyTerms: fc.Arbitrary<UpdateTerms> = fc.record(
  {
    entity: fc.constantFrom('either' as const, 'either' as const, 'present' as const, 'absent' as const),
    typeOfNew: fc.constant(type('Thing')),
    overridesMetadata: fc.boolean(),
    forced: fc.boolean(),
    valueOnly: fc.constantFrom('plain' as const, 'forbiddenCharacters' as const),
  },
  { requiredKeys: ['entity', 'typeOfNew', 'overridesMetadata', 'forced'] },
)
const action = fc.constantFrom('APPEND', 'APPEND', 'APPEND_STRICT', 'UPDATE', 'REPLACE', 'DELETE')
const oneOfEach = { maxLength: 8, selector: ({ name, instance }: GivenAttribute) => `${name} ${instance}` }
const anyCommand: fc.Arbitrary<UpdateCommand> = fc.oneof(
  fc
    .record({
      action,
      type: fc.constantFrom(undefined, type(''), type('T')),
      given: fc.uniqueArray(ofNgsi1, oneOfEach),
    })
    .map(({ action, given, type }) => command(action, 'E', given, type === undefined ? {} : { type })),
  fc
    .record({ action, given: fc.uniqueArray(ofNgsi2, { ...oneOfEach, selector: ({ name }) => name }), terms: anyTerms })
    .map(({ action, given, terms }) => command(action, 'E', given, { terms })),
)
const anyLimits: fc.Arbitrary<EntityLimits> = fc.oneof(
  fc.constant(noLimits),
  fc.record({
    size: fc.integer({ min: 50, max: 400 }),
    attributes: fc.integer({ min: 1, max: 8 }),
    values: fc.integer({ min: 1, max: 20 }),
    metadata: fc.integer({ min: 1, max: 8 }),
    types: fc.constant(2),
  }),
)

interface Step {
  readonly held: readonly Entity[]
  readonly decision: ReturnType<typeof applyUpdate>
}

/** What each command of a row does, one after another, to entities in the form that is asked for. */
function steps(commands: readonly UpdateCommand[], limits: EntityLimits, form: (entity: Entity) => Entity): Step[] {
  let held: readonly Entity[] = []
  return commands.map((next) => {
    held = held.map(form)
    const decision = applyUpdate(held, next, limits)
    const step = { held, decision }
    for (const { kind, entity } of decision.effects) {
      const others = held.filter(({ sequence }) => sequence !== entity.sequence)
      held = kind === 'put' ? [...others, entity].sort((a, b) => a.sequence - b.sequence) : others
    }
    return step
  })
}

/** All of it, where only the order of the members of an entity and of an attribute does not matter. */
function textOf(found: readonly Step[] | Step | undefined): string {
  return JSON.stringify(found, (_, value) => {
    if (value === null || typeof value !== 'object' || !('modified' in value)) return value
    return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
  })
}

test('updates of a large entity come to what they come to for a small one, and no version of it changes afterwards', async () => {
  fc.assert(
    fc.property(fc.array(anyCommand, { maxLength: 20 }), anyLimits, (commands, limits) => {
      const expected = steps(commands, limits, (entity) => entity)
      const found = steps(commands, limits, (entity) => LargeEntity.of(entity, 1) ?? entity)
      assert.equal(textOf(found), textOf(expected))
    }),
    { numRuns: 300 },
  )
})

test('each effect of a large entity is as it was decided, also when nobody has looked at it before the next one', async () => {
  fc.assert(
    fc.property(fc.array(anyCommand, { maxLength: 20 }), (commands) => {
      const looked = steps(commands, noLimits, (entity) => LargeEntity.of(entity, 1) ?? entity)
      const later = commands.map((_, at) => textOf(looked[at]))
      const first = steps(commands, noLimits, (entity) => {
        JSON.stringify(entity)
        return LargeEntity.of(entity, 1) ?? entity
      })
      assert.deepEqual(
        later,
        first.map((step) => textOf(step)),
      )
    }),
    { numRuns: 50 },
  )
})
