import type { ApiRequest, Client } from '../../api.js'
import type { Broker, Unavailable } from '../../broker/broker.js'
import { Effort, maxSteps } from '../../context/effort.js'
import type { Entity, EntityId } from '../../context/entity.js'
import { compileQuery } from '../../context/match.js'
import { gathered, type Page, type Query, type Scope, type Selector } from '../../context/query.js'
import { mergeResponses, type ShownEntity } from '../../providers/merge-responses.js'
import { askableEntities, entityKey, forwardsOf, type QueryForward } from '../../providers/query-plan.js'
import type { RegisteredEntity } from '../../registration/registration.js'
import type { SourceLookup } from '../../registration/sources.js'
import { err, ok, type Result } from '../../result.js'
import { Slices } from '../../slices.js'
import { now } from '../../time.js'
import type { Ngsi1Services } from '../services.js'
import { type Forwarder, type ForwardResult, forwarderOf } from './forwarder.js'
import { type QueryAnswer, queryForProvider, readQueryAnswer } from './provider-messages.js'

/** Entities one after the other, of which only the number may be known yet. */
export interface ShownNames extends Iterable<ShownEntity> {
  readonly length: number
}

/** What a read finds, here and at providers. */
export interface FoundEntities {
  /** Read one by one where no provider is asked. */
  readonly entities: ShownNames
  /** What is said when nothing is found, if a provider gives cause to say something. */
  readonly details: string | undefined
}

/** The details of a response without results when the one provider that was asked did not answer as it should. */
export const invalidAnswer = 'invalid context provider response'

/**
 * A page of what is held here, with what providers say of what is not [subscriptions 8.2]. The page is that of the
 * query; its count may be missing.
 */
export async function withProviders(
  services: Ngsi1Services,
  request: ApiRequest,
  query: Query,
  page: Page,
): Promise<Result<FoundEntities, Unavailable>> {
  const forwarder = forwarderOf(services, request, query.tenant)
  if (forwarder === undefined) return ok({ entities: page.entities, details: undefined })
  const held = { ...page, entities: await gathered(page.entities) }
  const { broker, options } = services
  const planned = await new ReadPlan(broker, forwarder, query, held, request.client, options.queryTimeout_ms).forwards()
  if (!planned.ok) return planned
  const passed = await forwarder.ask('queryContext', planned.value, queryForProvider, readQueryAnswer)
  if (!passed.ok) return passed
  const entities = mergeResponses(held.entities, passed.value.flatMap(answeredElements))
  return ok({ entities, details: entities.length === 0 ? detailsOfNothing(passed.value) : undefined })
}

/** What is to be asked of an entity, and which of its attributes are held here. */
interface ReadForward extends QueryForward {
  readonly held: ReadonlySet<string>
}

/**
 * Finds out what providers are to be asked for one page. The entities on the page are completed; entities that are not
 * held here follow those that are, so that a client who turns the pages sees each once.
 */
class ReadPlan {
  readonly #broker: Broker
  readonly #forwarder: Forwarder
  readonly #query: Query
  readonly #page: Page
  readonly #client: Client
  readonly #limit_ms: number
  readonly #lookup: SourceLookup
  readonly #onPage = new Map<EntityId, Entity[]>()

  constructor(broker: Broker, forwarder: Forwarder, query: Query, page: Page, client: Client, limit_ms: number) {
    this.#limit_ms = limit_ms
    this.#broker = broker
    this.#forwarder = forwarder
    this.#query = query
    this.#page = page
    this.#client = client
    this.#lookup = { tenant: query.tenant, paths: query.paths, now: now(), use: 'query', api: 'ngsi1' }
    for (const entity of page.entities) {
      const sameId = this.#onPage.get(entity.id)
      if (sameId) sameId.push(entity)
      else this.#onPage.set(entity.id, [entity])
    }
  }

  /** The requests to providers, if any: no more than the limit allows is looked for [subscriptions 8.4]. */
  async forwards(): Promise<Result<readonly ReadForward[], Unavailable>> {
    const slices = new Slices()
    const { selectors, scopes } = this.#query
    const forwards: ReadForward[] = []
    let [free, passedOver] = [this.#query.limit - this.#page.entities.length, 0]
    let before: number | undefined
    const effort = new Effort(maxSteps)
    const isResult = compileQuery(this.#query, effort)
    const askable = await this.#askable(selectors, slices)
    if (askable === undefined) return err({ kind: 'queryLate' })
    for (const entity of askable) {
      if (forwards.length >= this.#forwarder.limit) break
      if (slices.isOver) await slices.next()
      if (!typeMeant(entity, scopes)) continue
      const shown = (this.#onPage.get(entity.id) ?? []).filter(isSame(entity))
      if (shown.length > 0) forwards.push(...this.#forwardsFor(entity, shown))
      if (shown.length > 0 || free <= 0 || this.#forwardsFor(entity, []).length === 0) continue
      const held = await this.#heldHere(entity)
      if (!held.ok) return held
      const isHere = held.value.some(isResult)
      if (effort.isSpent) return err({ kind: 'queryTooCostly' })
      const lacking = isHere ? [] : this.#forwardsFor(entity, held.value)
      if (lacking.length === 0) continue // It is on another page, or nobody has more of it.
      if (before === undefined) {
        const count = await this.#countHere()
        if (!count.ok) return count
        before = Math.max(0, this.#query.offset - count.value)
      }
      passedOver += 1
      if (passedOver <= before) continue
      free -= 1
      forwards.push(...lacking)
    }
    return ok(forwards)
  }

  /** Undefined when it takes too long to try them all, or when the client has gone. */
  async #askable(selectors: readonly Selector[], slices: Slices): Promise<readonly RegisteredEntity[] | undefined> {
    const steps = askableEntities(this.#forwarder.index, this.#lookup, selectors)
    const until = performance.now() + this.#limit_ms
    for (;;) {
      const { done, value } = steps.next()
      if (done === true) return value
      if (!slices.isOver) continue
      await slices.next()
      if (this.#client.gone || performance.now() > until) return undefined
    }
  }

  #forwardsFor(entity: RegisteredEntity, held: readonly Entity[]): readonly ReadForward[] {
    const names = new Set(held.flatMap(({ attributes }) => attributes.map(({ name }) => name)))
    const { attributes } = this.#query
    const forwards = forwardsOf(this.#forwarder.index, this.#lookup, entity, attributes, (name) => names.has(name))
    return forwards.map((forward) => ({ ...forward, held: names }))
  }

  /** One that is registered without a type stands for all of its id. */
  #heldHere({ id, type }: RegisteredEntity): Promise<Result<readonly Entity[], Unavailable>> {
    const { tenant, paths } = this.#query
    return this.#broker.entities(tenant, paths, id, type === '' ? undefined : type, this.#client)
  }

  /** How many results are held here: known from the page, unless it is an empty one further back. */
  async #countHere(): Promise<Result<number, Unavailable>> {
    const { count, entities } = this.#page
    const { offset } = this.#query
    if (count !== undefined) return ok(count)
    if (entities.length > 0 || offset === 0) return ok(offset + entities.length)
    const counted = await this.#broker.query({ ...this.#query, offset: 0, limit: 1, counted: true }, this.#client)
    return counted.ok ? ok(counted.value.count ?? 0) : counted
  }
}

function isSame({ type }: RegisteredEntity): (held: Entity) => boolean {
  return (held) => type === '' || held.type === type
}

/** Restrictions are not passed on, but one of the type says which entities are meant. */
function typeMeant({ type }: RegisteredEntity, scopes: readonly Scope[]): boolean {
  return scopes.every(({ kind }) => (kind === 'typed' ? type !== '' : kind !== 'untyped' || type === ''))
}

/** What a provider says of what is held here does not count. */
function answeredElements({ forward, answer }: ForwardResult<ReadForward, QueryAnswer>): readonly ShownEntity[] {
  if (!answer.ok) return []
  const key = entityKey(forward.entity)
  return answer.value.elements.map((element) => {
    if (entityKey(element) !== key) return element
    return { ...element, attributes: element.attributes.filter(({ name }) => !forward.held.has(name)) }
  })
}

function detailsOfNothing(passed: readonly ForwardResult<ReadForward, QueryAnswer>[]): string | undefined {
  const [first] = passed
  if (first === undefined || passed.some(({ forward }) => forward.provider !== first.forward.provider)) return undefined
  return first.answer.ok ? first.answer.value.details : invalidAnswer
}
