import { type Err, err, ok, type Result } from '../../result.js'
import { draftAttribute, draftedAttribute, newAttribute, updatedAttribute } from './attribute.js'
import type { AttributeEdits } from './attribute-edits.js'
import type { Attribute, Entity } from './entity.js'
import { editsOf, formFor, heldAttributesOf } from './entity-forms.js'
import { isLocationByTerms, LocationKeeper } from './location.js'
import type { GivenAttribute, LocationMoment, UpdateCommand, UpdateRefusal, UpdateTerms } from './update.js'

/** An entity after attributes were applied to it, and the names of those that changed. */
export interface Laid {
  readonly entity: Entity
  readonly changed: readonly string[]
}

/** Applies the attributes of a command to an entity, one after another; refuses with the first that does not fit. */
export function laid(
  entity: Entity,
  command: UpdateCommand,
  moment: 'creation' | 'update',
): Result<Laid, UpdateRefusal> {
  const { attributes, action, time, terms } = command
  const location = new LocationKeeper(entity)
  const form = formFor(entity, attributes)
  const heldAttributes = heldAttributesOf(form, terms !== undefined)
  const edits = editsOf(form)
  const changed = new Set<string>()
  let located: Attribute | undefined
  for (const given of attributes) {
    const at = heldAttributes.position(given)
    const held = edits.at(at)
    const isNew = held === undefined && moment === 'update' && action !== 'REPLACE'
    const when = isNew ? 'newAttribute' : moment
    const made =
      terms === undefined
        ? madeByNgsi1(held, given, command, location, when)
        : madeByNgsi2(held, given, terms, command, when)
    if (!made.ok) return action === 'UPDATE' ? made : asSecondLocation(made, edits, held)
    if (made.value === undefined) continue
    const isChanged = made.value !== held
    const attribute = !isChanged ? made.value : held ? edits.replace(at, made.value) : edits.add(made.value)
    if (terms !== undefined && attribute.isLocation) located = attribute
    if (isChanged) changed.add(given.name)
  }
  if (changed.size === 0) return ok({ entity, changed: [] })
  const after = edits.entity({ modified: time, correlator: rootOf(command) }, located, action === 'UPDATE')
  return after.ok ? ok({ entity: after.value, changed: [...changed] }) : after
}

/** A second location is refused as such before its value is checked [NGSIv2 context 3.5]. */
function asSecondLocation(
  refusal: Err<UpdateRefusal>,
  edits: AttributeEdits,
  held: Attribute | undefined,
): Err<UpdateRefusal> {
  const { error } = refusal
  if (error.kind !== 'termsUnmet' || error.why.kind !== 'shapeMalformed') return refusal
  const first = edits.location(held)
  if (first === undefined) return refusal
  return err({ kind: 'termsUnmet', why: { kind: 'locationsTooMany', name: error.why.name, held: first.name } })
}

/** Correlators that the broker makes have shorter roots: only one that a client has chosen reaches this length. */
const root_characters = 256

/** The part of a correlator that all notifications of one request share, cut where it is very long [NGSIv2 subscriptions 4.4]. */
export function rootOf({ origin: { correlator } }: Pick<UpdateCommand, 'origin'>): string {
  const end = correlator.indexOf(';')
  if (end === -1 && correlator.length <= root_characters) return correlator
  return correlator.slice(0, end === -1 ? root_characters : Math.min(end, root_characters))
}

/** NGSIv1: what is not given stays as it was. */
function madeByNgsi1(
  held: Attribute | undefined,
  given: GivenAttribute,
  { time, autocast }: UpdateCommand,
  location: LocationKeeper,
  when: LocationMoment,
): Result<Attribute, UpdateRefusal> {
  const isLocation = location.decide(held, given, when)
  if (!isLocation.ok) return isLocation
  const making = { time, autocast: autocast === true, isLocation: isLocation.value }
  return ok(held ? updatedAttribute(held, given, making) : newAttribute(given, making))
}

/** NGSIv2; undefined for an attribute that does not exist afterwards. */
function madeByNgsi2(
  held: Attribute | undefined,
  given: GivenAttribute,
  terms: UpdateTerms,
  { time, action }: UpdateCommand,
  when: LocationMoment,
): Result<Attribute | undefined, UpdateRefusal> {
  const drafted = draftAttribute(held, given, terms)
  if (!drafted.ok) return drafted
  if (drafted.value === undefined) return ok(undefined)
  const becomesByAppend = action === 'APPEND' && held?.isLocation === false
  const moment = becomesByAppend ? 'existingAttribute' : when === 'newAttribute' ? when : 'other'
  const isLocation = isLocationByTerms(held, drafted.value, terms.overridesMetadata, moment)
  if (!isLocation.ok) return isLocation
  return ok(draftedAttribute(held, drafted.value, isLocation.value, time, terms.forced))
}
