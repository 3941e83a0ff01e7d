import type { Options } from '../../flags/settings.js'
import { maxAttributes, maxMetadata, metadataOf } from '../../model/context/entity-size.js'
import { gathered, type Page } from '../../model/context/query.js'
import { ok, type Result } from '../../result.js'
import { inSlices, Slices, type Steps } from '../../slices.js'
import type { Broker, Unavailable } from '../front-end/broker.js'
import type { Call } from '../operations/operation.js'
import { type Forwarder, type ForwardingServices, type ForwardResult, forwarderOf } from './forwarder.js'
import type { ParsedQueryResponse } from './provider-format.js'
import type { ProviderFailure } from './provider-request.js'
import { type AskableEntity, entityKey, type ShownEntity } from './query-plan.js'
import { type ReadForward, type ReadGroup, ReadPlan, type RemoteRead, ResponseFilter } from './read-plan.js'
import { ReceivedEntities } from './received-entities.js'

/** The result of a read, from this broker and from providers. */
interface RemoteResult {
  readonly entities: readonly ShownEntity[]
  /** The number of results that the providers report, beyond those held here. */
  readonly count: number
  readonly passed: readonly ForwardResult<ReadForward, ParsedQueryResponse>[]
}

interface ReadServices extends ForwardingServices {
  readonly options: Pick<Options, 'queryTimeout_ms'>
}

/** A read whose page of held entities is known. */
interface HeldRead extends Pick<RemoteRead, 'form' | 'query' | 'names'> {
  readonly page: Page
}

/**
 * Completes a page of what is held here by asking providers [subscriptions 8.2], [NGSIv2 subscriptions 11.2]. They are asked at
 * the same time, unless the offset for one depends on the number of results of another. Undefined when no provider is to be
 * asked.
 */
export function readAtProviders(
  call: Call<ReadServices>,
  held: HeldRead,
): Promise<Result<RemoteResult, Unavailable>> | undefined {
  const forwarder = forwarderOf(call)
  return forwarder && completed(call, forwarder, held)
}

async function completed(
  { services: { broker, options }, request: { client } }: Call<ReadServices>,
  forwarder: Forwarder,
  { page, ...what }: HeldRead,
): Promise<Result<RemoteResult, Unavailable>> {
  const entities = await gathered(page.entities)
  const read = { ...what, client, limit_ms: options.queryTimeout_ms, page: { ...page, entities } }
  try {
    return await new Reading(broker, forwarder, read).run()
  } finally {
    forwarder.end()
  }
}

/** An entity that is still to be asked for. */
interface Pending {
  readonly entity: AskableEntity
  /** The remaining requests, when some were sent already. */
  readonly forwards?: ReadGroup['forwards']
}

interface Round {
  readonly groups: readonly ReadGroup[]
  readonly left: readonly Pending[]
}

/** One read, in rounds of concurrent requests. */
class Reading {
  readonly #forwarder: Forwarder
  readonly #read: RemoteRead
  readonly #plan: ReadPlan
  readonly #filter: ResponseFilter
  readonly #passed: ForwardResult<ReadForward, ParsedQueryResponse>[] = []
  readonly #received = new ReceivedEntities()
  readonly #slices = new Slices()
  readonly #until: number
  /** Entities on the page so far that are not held here. */
  readonly #added = new Set<string>()
  #count = 0
  /** The number of results to skip before the page begins; undefined until it is needed. */
  #skip: number | undefined

  constructor(broker: Broker, forwarder: Forwarder, read: RemoteRead) {
    this.#forwarder = forwarder
    this.#read = read
    this.#plan = new ReadPlan(broker, forwarder.index, read, forwarder.left)
    this.#filter = new ResponseFilter(this.#plan, read)
    this.#until = performance.now() + read.limit_ms
  }

  async run(): Promise<Result<RemoteResult, Unavailable>> {
    const askable = await this.#plan.entities()
    if (!askable.ok) return askable
    let left: readonly Pending[] = askable.value.map((entity) => ({ entity }))
    do {
      const round = await this.#round(left)
      if (!round.ok) return round
      const done = await this.#ask(round.value.groups)
      if (!done.ok) return done
      left = round.value.left
    } while (left.length > 0 && this.#forwarder.left > 0 && !this.#isLate)
    const { entities } = this.#read.page
    const merged = await inSlices(this.#received.behind(entities), this.#slices)
    const shown =
      this.#read.form === 'ngsi1' ? merged : merged.slice(0, Math.max(this.#read.query.limit, entities.length))
    return ok({ entities: shown, count: this.#count, passed: this.#passed })
  }

  /** The number of results that the page still lacks. */
  get #free(): number {
    return this.#read.query.limit - this.#read.page.entities.length - this.#added.size
  }

  get #isLate(): boolean {
    return this.#read.client.gone || performance.now() > this.#until
  }

  /** The requests that can be sent at the same time, and what is left for other rounds. */
  async #round(pending: readonly Pending[]): Promise<Result<Round, Unavailable>> {
    const groups: ReadGroup[] = []
    const left: Pending[] = []
    let [forwards, free] = [0, this.#free]
    for (const [at, each] of pending.entries()) {
      if (forwards >= this.#forwarder.left) break
      if (this.#slices.isOver) await this.#slices.next()
      const completing = await this.#plan.completing(each.entity)
      if (completing === undefined && free <= 0) {
        // With NGSIv1, entities that the providers turn out not to have leave a gap on the page.
        const isKept = this.#free > 0 && this.#read.form === 'ngsi2'
        if (this.#read.page.entities.length === 0) return ok({ groups, left: isKept ? pending.slice(at) : [] })
        if (isKept) left.push(each)
        continue
      }
      const group = completing === undefined ? await this.#adding(each) : ok(completing)
      if (!group.ok) return group
      if (group.value === undefined) continue
      if (completing === undefined && this.#isBehind) {
        if (groups.length > 0) return ok({ groups, left: pending.slice(at) })
        const { first, rest } = inTurn(group.value)
        return ok({ groups: [first], left: [...rest, ...pending.slice(at + 1)] })
      }
      groups.push(group.value)
      forwards += group.value.forwards.length
      if (completing === undefined && !each.entity.everyId) free -= 1
    }
    return ok({ groups, left })
  }

  /** Whether the page begins behind the known results: the next requests then depend on how many results each provider has. */
  get #isBehind(): boolean {
    return this.#skip !== undefined && this.#skip > 0
  }

  /** The requests for an entity that is not on the page; undefined for none. */
  async #adding({ entity, forwards }: Pending): Promise<Result<ReadGroup | undefined, Unavailable>> {
    const group = forwards ? ok({ entity, forwards, completes: false }) : await this.#plan.adding(entity)
    if (!group.ok) return group
    if (group.value.forwards.length === 0) return ok(undefined)
    if (this.#skip === undefined) {
      const count = await this.#plan.countHere()
      if (!count.ok) return count
      this.#skip = Math.max(0, this.#read.query.offset - count.value)
    }
    // Pages of NGSIv1 count registered entities, whether their providers have them or not.
    if (this.#skip === 0 || entity.everyId || this.#read.form === 'ngsi2') return group
    this.#skip -= 1
    return ok(undefined)
  }

  async #ask(groups: readonly ReadGroup[]): Promise<Result<undefined, Unavailable>> {
    const groupOf = new Map<ReadForward, ReadGroup>()
    for (const group of groups) {
      const page = { limit: Math.max(1, this.#free), offset: group.completes ? 0 : (this.#skip ?? 0) }
      for (const forward of group.forwards) groupOf.set({ ...forward, page }, group)
    }
    const passed = await this.#forwarder.ask(
      {
        operation: 'query',
        message: (format, forward: ReadForward) => format.query(forward, forward.page),
        read: (format, response, forward) => {
          const read = format.readQuery(response)
          return withinLimits(read, (entity) => this.#forwarder.leftOut(forward, entity))
        },
      },
      [...groupOf.keys()],
    )
    if (!passed.ok) return passed
    const counts = new Map<ReadGroup, number>()
    for (const result of passed.value) {
      this.#passed.push(result)
      const taken = await this.#filter.take(result)
      if (!taken.ok) return taken
      const group = groupOf.get(result.forward)
      const adds = group !== undefined && !group.completes
      for (const element of taken.value.elements) {
        if (this.#slices.isOver) await this.#slices.next()
        if (!this.#received.add(element)) this.#forwarder.leftOut(result.forward, element)
        else if (adds) this.#added.add(entityKey(element))
      }
      if (!adds) continue
      const others = counts.get(group) ?? 0
      // Several providers of one entity have parts of it.
      counts.set(group, group.entity.everyId ? others + taken.value.count : Math.max(others, taken.value.count))
    }
    for (const count of counts.values()) {
      this.#count += count
      this.#skip = Math.max(0, (this.#skip ?? 0) - count)
    }
    return ok(undefined)
  }
}

/**
 * Providers of every id have distinct results, so the offset for each depends on the one before. Providers of one entity have
 * parts of it.
 */
function inTurn(group: ReadGroup): { readonly first: ReadGroup; readonly rest: readonly Pending[] } {
  const { entity, forwards } = group
  if (!entity.everyId) return { first: group, rest: [] }
  const [first, ...others] = forwards
  return {
    first: { ...group, forwards: first === undefined ? [] : [first] },
    rest: others.length === 0 ? [] : [{ entity, forwards: others }],
  }
}

/** A provider is not trusted: an entity with more than one may have here is left out, since it would be shown in one piece. */
function* withinLimits(
  reading: Steps<Result<ParsedQueryResponse, ProviderFailure>>,
  leftOut: (entity: ShownEntity) => void,
): Steps<Result<ParsedQueryResponse, ProviderFailure>> {
  const read = yield* reading
  if (!read.ok) return read
  const elements: ShownEntity[] = []
  for (const element of read.value.elements) {
    if (isWithinLimits(element)) elements.push(element)
    else leftOut(element)
    yield
  }
  return ok({ ...read.value, elements })
}

function isWithinLimits({ attributes, hasTooManyValues }: ShownEntity): boolean {
  if (hasTooManyValues === true || attributes.length > maxAttributes) return false
  return metadataOf(attributes) <= maxMetadata
}
