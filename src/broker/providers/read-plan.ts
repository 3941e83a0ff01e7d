import type { Entity, EntityId } from '../../model/context/entity.js'
import { compileHeads, compileQuery } from '../../model/context/match.js'
import type { Page, Query, Scope } from '../../model/context/query.js'
import { maxSteps, StepBudget } from '../../model/context/step-budget.js'
import type { RegisteredEntity } from '../../model/registration/registration.js'
import type { RegistrationIndex } from '../../model/registration/registration-index.js'
import type { SourceLookup } from '../../model/registration/sources.js'
import { err, ok, type Result } from '../../result.js'
import { atOnceOrInSlices, inSlicesUntil, mapInSlices, Slices, type Steps } from '../../slices.js'
import { now } from '../../time.js'
import type { Broker, EntityReads, Unavailable } from '../front-end/broker.js'
import type { Client } from '../operations/api.js'
import type { ForwardResult } from './forwarder.js'
import type { ForwardPage, ParsedQueryResponse } from './provider-format.js'
import type { NgsiForm } from './provider-request.js'
import {
  type AskableEntity,
  askableEntities,
  entityKey,
  type QueryForward,
  QueryPlanner,
  type ShownEntity,
} from './query-plan.js'

/** A client's read, and what this broker holds of it. */
export interface RemoteRead {
  /** The form of the client's request. */
  readonly form: NgsiForm
  readonly query: Query
  /** The page of the query; its count may be missing. */
  readonly page: Page & { readonly entities: readonly Entity[] }
  /** The attributes that are asked for; empty for all. */
  readonly names: readonly string[]
  readonly client: Client
  /** Beyond this time no provider is asked any more. */
  readonly limit_ms: number
}

/** A request for an entity, and which of its attributes are held here. */
export interface ReadForward extends QueryForward {
  readonly held: ReadonlySet<string>
  readonly page: ForwardPage
}

/** The requests for one entity, or for the entities of every id that one registration stands for. */
export interface ReadGroup {
  readonly entity: AskableEntity
  readonly forwards: readonly Omit<ReadForward, 'page'>[]
  /** Whether the entity is on the page of what is held here. */
  readonly completes: boolean
}

/** Plans the requests for one page: those that complete its entities, and those for entities that are not held here. */
export class ReadPlan {
  readonly #broker: Broker
  readonly #index: RegistrationIndex
  readonly #read: RemoteRead
  readonly #lookup: SourceLookup
  readonly #budget = new StepBudget(maxSteps)
  readonly #planner: QueryPlanner
  readonly #isResult: (entity: Entity) => boolean
  readonly #onPage = new Map<EntityId, Entity[]>()
  readonly #reads: EntityReads
  /** The entities that may have to be read, until the first of them is. */
  #toRead: readonly EntityId[] = []

  /** Plans at most `most` requests for one entity. */
  constructor(broker: Broker, index: RegistrationIndex, read: RemoteRead, most: number) {
    this.#broker = broker
    this.#index = index
    this.#read = read
    const { tenant, paths } = read.query
    this.#reads = broker.reads(tenant, paths, read.client)
    this.#lookup = { tenant, paths, now: now(), use: 'query', api: read.form }
    this.#planner = new QueryPlanner(index, this.#lookup, read.names, most)
    this.#isResult = compileQuery(read.query, this.#budget)
    for (const entity of read.page.entities) {
      const sameId = this.#onPage.get(entity.id)
      if (sameId) sameId.push(entity)
      else this.#onPage.set(entity.id, [entity])
    }
  }

  /** The entities of which providers may have something, in the order of asking. Refuses when matching them takes too long. */
  async entities(): Promise<Result<readonly AskableEntity[], Unavailable>> {
    const { query, client, limit_ms } = this.#read
    const until = performance.now() + limit_ms
    const steps = this.#meantEntities(query)
    const meant = await inSlicesUntil(steps, () => client.gone || performance.now() > until)
    return meant ?? err({ kind: 'queryLate' })
  }

  *#meantEntities({ selectors, scopes }: Query): Steps<Result<readonly AskableEntity[], Unavailable>> {
    const found = yield* askableEntities(this.#index, this.#lookup, selectors)
    if (!found.ok) return found
    const meant: AskableEntity[] = []
    const toRead: EntityId[] = []
    for (const entity of found.value) {
      yield
      if (!typeMeant(entity, scopes)) continue
      meant.push(entity)
      if (entity.everyId !== true && this.#shown(entity).length === 0) toRead.push(entity.id)
    }
    this.#toRead = toRead
    return ok(meant)
  }

  /** Confirms entities that are about to be read, in one question to each owner however many of them it has. */
  prepare(ids: readonly EntityId[]): Promise<Result<undefined, Unavailable>> {
    return this.#reads.prepare(ids)
  }

  /** The requests that complete an entity on the page; undefined for any other entity. */
  async completing(entity: AskableEntity): Promise<ReadGroup | undefined> {
    const shown = this.#shown(entity)
    if (shown.length === 0) return undefined
    return { entity, forwards: await this.#forwardsFor(entity, shown), completes: true }
  }

  /** The requests for an entity that is not on the page; none when it is on another page, or no provider has more of it. */
  async adding(entity: AskableEntity): Promise<Result<ReadGroup, Unavailable>> {
    const group = { entity, forwards: await this.#forwardsFor(entity, []), completes: false }
    if (entity.everyId || group.forwards.length === 0) return ok(group)
    const held = await this.heldHere(entity)
    if (!held.ok) return held
    return ok({ ...group, forwards: held.value === 'shown' ? [] : await this.#forwardsFor(entity, held.value) })
  }

  /** What is held here of an entity that is not on the page; `shown`: it is on another one. */
  async heldHere({ id, type }: RegisteredEntity): Promise<Result<readonly Entity[] | 'shown', Unavailable>> {
    const toRead = this.#toRead
    this.#toRead = []
    const known = await this.prepare([...toRead, id])
    if (!known.ok) return known
    // An entity without a type stands for all of its id.
    const held = await this.#reads.of({ id, type: type === '' ? undefined : type })
    if (!held.ok) return held
    const isShown = held.value.some(this.#isResult)
    if (this.#budget.isSpent) return err({ kind: 'queryTooCostly' })
    return ok(isShown ? 'shown' : held.value)
  }

  /** The number of results held here; the page tells it, unless it is an empty page behind the last result. */
  async countHere(): Promise<Result<number, Unavailable>> {
    const { query, page, client } = this.#read
    const { count, entities } = page
    if (count !== undefined) return ok(count)
    if (entities.length > 0 || query.offset === 0) return ok(query.offset + entities.length)
    const counted = await this.#broker.query({ ...query, offset: 0, limit: 1, counted: true }, client)
    return counted.ok ? ok(counted.value.count ?? 0) : counted
  }

  #shown({ id, type, everyId }: RegisteredEntity): readonly Entity[] {
    if (everyId) return []
    return (this.#onPage.get(id) ?? []).filter((held) => type === '' || held.type === type)
  }

  async #forwardsFor(entity: AskableEntity, held: readonly Entity[]): Promise<ReadGroup['forwards']> {
    const names = attributeNames(held)
    const forwards = await atOnceOrInSlices(this.#planner.forwardsOf(entity, (name) => names.has(name)))
    return forwards.map((forward) => ({ ...forward, held: names }))
  }
}

/** The attribute names of some entities. */
function attributeNames(entities: readonly Entity[]): ReadonlySet<string> {
  return new Set(entities.flatMap(({ attributes }) => attributes.map(({ name }) => name)))
}

/** Restrictions are not forwarded, but a restriction of the type selects entities. */
function typeMeant({ type }: RegisteredEntity, scopes: readonly Scope[]): boolean {
  return scopes.every((scope) => {
    switch (scope.kind) {
      case 'typed':
        return type !== ''
      case 'untyped':
        return type === ''
      case 'types':
        return type === '' || scope.types.includes(type)
      default:
        return true
    }
  })
}

/** The usable part of a provider's response. */
interface UsableResponse {
  readonly elements: readonly ShownEntity[]
  /** The number of results that the provider has. */
  readonly count: number
}

const nothing: UsableResponse = { elements: [], count: 0 }

/**
 * Filters the responses of providers: keeps what was asked for and is not held here [subscriptions 8], [NGSIv2 subscriptions 11.2].
 */
export class ResponseFilter {
  readonly #plan: ReadPlan
  readonly #read: RemoteRead
  readonly #budget = new StepBudget(maxSteps)
  readonly #slices = new Slices()
  readonly #isMeant: (entity: ShownEntity) => boolean
  readonly #onPage: ReadonlySet<string>

  constructor(plan: ReadPlan, read: RemoteRead) {
    this.#plan = plan
    this.#read = read
    this.#isMeant = compileHeads(read.query, this.#budget)
    this.#onPage = new Set(read.page.entities.map(entityKey))
  }

  /** What a response adds, empty for a failure. Elements that take too long to compare with the query are left out. */
  async take({
    forward,
    response,
  }: ForwardResult<ReadForward, ParsedQueryResponse>): Promise<Result<UsableResponse, Unavailable>> {
    if (!response.ok) return ok(nothing)
    const { elements, count } = response.value
    if (this.#isTrusted(forward)) {
      const left = await mapInSlices(elements, withoutHeld(forward))
      return ok({ elements: left, count: elements.length })
    }
    const meant = await this.#meant(forward, elements)
    const { offset, limit } = forward.page
    const page = forward.form === 'ngsi1' ? meant.slice(offset, offset + limit) : meant.slice(0, limit)
    const { everyId, type } = forward.entity
    const left = everyId || type === '' ? await this.#notHeld(page) : ok(page.map(withoutHeld(forward)))
    return left.ok ? ok({ elements: left.value, count: count ?? meant.length }) : left
  }

  async #meant(forward: ReadForward, elements: readonly ShownEntity[]): Promise<readonly ShownEntity[]> {
    const meant: ShownEntity[] = []
    this.#budget.renew()
    for (const element of elements) {
      if (this.#slices.isOver) await this.#slices.next()
      const typed = element.type === '' ? { ...element, type: forward.entity.type } : element
      if (isRequested(forward, typed) && this.#isMeant(typed)) meant.push(typed)
      if (this.#budget.isSpent) break
    }
    return meant
  }

  /** Clients of NGSIv1 get everything that a provider in that form says of an entity that they ask for. */
  #isTrusted({ form, entity }: ReadForward): boolean {
    return form === 'ngsi1' && this.#read.form === 'ngsi1' && !entity.everyId
  }

  /** Leaves out entities that are held here, on whatever page, for responses whose ids and types were not known before. */
  async #notHeld(elements: readonly ShownEntity[]): Promise<Result<readonly ShownEntity[], Unavailable>> {
    const left: ShownEntity[] = []
    const toRead = elements.filter((element) => !this.#onPage.has(entityKey(element)))
    const known = await this.#plan.prepare(toRead.map(({ id }) => id))
    if (!known.ok) return known
    for (const element of elements) {
      if (this.#slices.isOver) await this.#slices.next()
      if (this.#read.client.gone) break
      const held = this.#onPage.has(entityKey(element)) ? ok([]) : await this.#plan.heldHere(element)
      if (!held.ok && held.error.kind === 'queryTooCostly') break
      if (!held.ok) return held
      if (held.value === 'shown') continue
      const names = attributeNames(held.value)
      left.push(names.size === 0 ? element : { ...element, attributes: without(element, names) })
    }
    return ok(left)
  }
}

/** Whether an entity is one that the provider was asked for. */
function isRequested({ entity }: ReadForward, { id, type }: ShownEntity): boolean {
  return (entity.everyId === true || id === entity.id) && (entity.type === '' || type === entity.type)
}

/** Drops from a provider's response the attributes that are held here. */
function withoutHeld({ entity, held }: ReadForward): (element: ShownEntity) => ShownEntity {
  const key = entityKey(entity)
  return (element) => (entityKey(element) === key ? { ...element, attributes: without(element, held) } : element)
}

function without({ attributes }: ShownEntity, names: ReadonlySet<string>): ShownEntity['attributes'] {
  return attributes.filter(({ name }) => !names.has(name))
}
