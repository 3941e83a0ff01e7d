import type { EntityId, EntityType } from '../context/entity.js'
import { compileSelectors } from '../context/match.js'
import type { Selector } from '../context/query.js'
import type { RegisteredEntity } from './registration.js'

/** Work that may be interrupted wherever it yields. */
export type Pauses<Result> = Generator<undefined, Result, void>

type Test = (entity: RegisteredEntity) => boolean

/** A pattern of ids with the types meant with it; compiled at first use. */
class PatternSearch {
  readonly #selectors: readonly Selector[]
  #test: Test | undefined

  constructor(selectors: readonly Selector[]) {
    this.#selectors = selectors
  }

  means(entity: RegisteredEntity): boolean {
    this.#test ??= compileSelectors(this.#selectors)
    return this.#test(entity)
  }
}

/**
 * Tells which registered entities selectors mean. One that stands for every id is meant whatever the selector's id [NGSIv2
 * subscriptions 9]. Hundreds of patterns on a long id take long, so it pauses after each.
 */
export class MeantEntities {
  readonly #byId: Test
  readonly #ofEveryId: Test
  readonly #searches: readonly PatternSearch[]

  constructor(selectors: readonly Selector[]) {
    this.#byId = compileSelectors(selectors.filter(({ id }) => id.kind !== 'pattern'))
    this.#ofEveryId = compileSelectors(selectors.map((selector) => ({ ...selector, id: { kind: 'any' } })))
    const byPattern = new Map<string, Selector[]>()
    for (const selector of selectors) {
      const { id } = selector
      if (id.kind !== 'pattern') continue
      const same = byPattern.get(id.pattern)
      if (same === undefined) byPattern.set(id.pattern, [selector])
      else same.push(selector)
    }
    this.#searches = [...byPattern.values()].map((same) => new PatternSearch(same))
  }

  *has(entity: RegisteredEntity): Pauses<boolean> {
    if (entity.everyId) return this.#ofEveryId(entity)
    if (this.#byId(entity)) return true
    for (const search of this.#searches) {
      if (search.means(entity)) return true
      yield
    }
    return false
  }
}

/** Entities of some types, as far as selectors mean them: one list of each, where there may be thousands of both. */
export class MeantOfTypes {
  readonly types: ReadonlySet<EntityType>
  readonly selectors: readonly Selector[]
  readonly #meant: MeantEntities

  /** `meant` are the entities that the selectors mean, of whatever type. */
  constructor(types: ReadonlySet<EntityType>, selectors: readonly Selector[], meant: MeantEntities) {
    this.types = types
    this.selectors = selectors
    this.#meant = meant
  }

  *has(entity: RegisteredEntity): Pauses<boolean> {
    return this.types.has(entity.type) && (yield* this.#meant.has(entity))
  }
}

/** `MeantEntities` with a cache: an entity that comes again is not compared with the patterns again. */
export class MeantOnce {
  readonly #meant: MeantEntities
  readonly #ofTypes: MeantOfTypes | undefined
  readonly #known = new Map<EntityType, Map<EntityId, boolean>>()

  /** What selectors mean; with `ofTypes` what that means, too. */
  constructor(selectors: readonly Selector[], ofTypes?: MeantOfTypes) {
    this.#meant = new MeantEntities(selectors)
    this.#ofTypes = ofTypes
  }

  *has(entity: RegisteredEntity): Pauses<boolean> {
    if (entity.everyId) return yield* this.#either(entity)
    const ofType = this.#known.get(entity.type) ?? new Map<EntityId, boolean>()
    const known = ofType.get(entity.id)
    if (known !== undefined) return known
    const isMeant = yield* this.#either(entity)
    this.#known.set(entity.type, ofType.set(entity.id, isMeant))
    return isMeant
  }

  *#either(entity: RegisteredEntity): Pauses<boolean> {
    if (yield* this.#meant.has(entity)) return true
    return this.#ofTypes !== undefined && (yield* this.#ofTypes.has(entity))
  }

  /** The meant ones, in order, with a pause after each entity. */
  *of(entities: readonly RegisteredEntity[]): Pauses<readonly RegisteredEntity[]> {
    const meant: RegisteredEntity[] = []
    for (const entity of entities) {
      if (yield* this.has(entity)) meant.push(entity)
      yield
    }
    return meant
  }
}
