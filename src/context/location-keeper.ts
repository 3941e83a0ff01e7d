import type { Result } from '../result.js'
import { err, ok } from '../result.js'
import type { Attribute, Value } from './entity.js'
import { parseCoordinates } from './location.js'
import type { GivenAttribute, LocationMoment, UpdateRefusal } from './update.js'

/** The misspelling of old clients means the same system [context 2.5]. */
const coordinateSystems = new Set(['WGS84', 'WSG84'])

/**
 * Watches over the rule that at most one attribute of an entity is its location, while the attributes of a request are
 * laid upon it one after another [context 2.5].
 */
export class LocationKeeper {
  #holder: Pick<Attribute, 'name' | 'instance'> | undefined

  constructor(attributes: readonly Attribute[]) {
    this.#holder = attributes.find(({ isLocation }) => isLocation)
  }

  /**
   * Whether the given attribute is the location once it is laid. It becomes it by its type or its metadata, and stays
   * it when the request says nothing about location. Refuses another coordinate system, a second location, and a value
   * that is not coordinates [context 6.5].
   */
  decide(held: Attribute | undefined, given: GivenAttribute, when: LocationMoment): Result<boolean, UpdateRefusal> {
    const { name, location } = given
    if (location !== undefined && !coordinateSystems.has(location)) {
      return err({ kind: 'coordinateSystemUnknown', name, found: location, when })
    }
    const declared = location !== undefined || given.type === 'geo:point'
    if (!declared && held?.isLocation !== true) return ok(false)
    if (this.#holder && !isSame(this.#holder, given)) {
      return err({ kind: 'locationTwice', name, held: this.#holder.name, when })
    }
    const value = given.value ?? held?.value ?? ''
    if (parseCoordinates(value) === undefined) {
      return err({ kind: 'coordinatesMalformed', name, value: textOf(value), when })
    }
    this.#holder = given
    return ok(true)
  }
}

function isSame(a: Pick<Attribute, 'name' | 'instance'>, b: Pick<Attribute, 'name' | 'instance'>): boolean {
  return a.name === b.name && a.instance === b.instance
}

function textOf(value: Value): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
