import type { Options } from '../../flags/settings.js'
import type { Entity, EntityId, EntityType, ServicePath, Tenant } from '../../model/context/entity.js'
import { gathered, type Page, type PathRange, type Query, type Selector } from '../../model/context/query.js'
import type { UpdateElement } from '../../model/context/update.js'
import { traceArea } from '../../observe/log/trace.js'
import type { BoundedMailbox } from '../../partition/mailbox/bounded-mailbox.js'
import type { Reply } from '../../partition/turn/commands.js'
import { err, ok, type Result } from '../../result.js'
import { inSlices, Slices } from '../../slices.js'
import { StoredEntities } from '../../storage/records/large-record.js'
import type { RecordPage } from '../../storage/store/result-page.js'
import type { ViewName, Views } from '../../storage/store/views/views.js'
import { whenOver } from '../../time-limit.js'
import type { Client } from '../operations/api.js'
import type {
  Broker,
  EntityNamed,
  EntityReads,
  PartitionHealth,
  RawElements,
  RawUpdate,
  SubscriptionService,
  TypeSummary,
  Unavailable,
} from './broker.js'
import { type ConfirmedReads, RequestReads } from './confirmed-reads.js'
import type { StreamService } from './listening.js'
import type { PartitionReaders, StatePage } from './partition-readers.js'
import type { QueryPool } from './query-pool.js'
import type { RegistryService } from './services.js'
import { summariesIn } from './type-sums.js'
import { Updates, type UpdatesParts } from './updates.js'

export interface FrontBrokerParts extends UpdatesParts {
  readonly readers: Pick<
    PartitionReaders,
    'entities' | 'recentEntities' | 'query' | 'state' | 'partitionOf' | 'partitionsOf'
  >
  readonly queries: Pick<QueryPool, 'page' | 'state' | 'types' | 'view'>
  /** Of the partitions' threads in this process, wherever their owners are. */
  readonly threads: readonly Pick<BoundedMailbox, 'ping'>[]
  /** Whether the last commit of some partition failed for want of room. */
  readonly storageFull: () => boolean
  readonly subscriptions: SubscriptionService
  readonly registry: RegistryService
  readonly listening: StreamService
  /** On a node of a cluster; what is read is read as it is without it. */
  readonly confirmed?: Pick<ConfirmedReads, 'confirm' | 'isConfirmed'> | undefined
}

/** A response exists several times on its way: as records, rendered, joined, and in the buffers of its socket. */
const responseFactor = 4

/** The bytes that a page may have: its response must find room. */
export function pageLimit_bytes({ pageMaxSize, responseMemory_MiB }: PageLimits): number {
  return Math.min(pageMaxSize, (responseMemory_MiB * 2 ** 20) / responseFactor)
}

type PageLimits = Pick<Options, 'pageMaxSize' | 'responseMemory_MiB'>

/** Ids that a front end looks up itself, and what it reads then in its own thread; beyond that a query thread does it. */
const lookedUp = 8
const lookups = { page_bytes: 256 * 1024 }

/** Entities of one id that are read at one time. */
const mostOfId = 1000

/** How long a partition may take to answer a ping [management 8.2]. */
const pingLimit_ms = 1000

/** The broker as one front end has it: mailboxes of its own to every partition, snapshots of its own. */
export class FrontBroker implements Broker {
  readonly subscriptions: SubscriptionService
  readonly registry: RegistryService
  readonly listening: StreamService
  readonly #parts: FrontBrokerParts
  readonly #updates: Updates

  constructor(parts: FrontBrokerParts) {
    this.#parts = parts
    this.subscriptions = parts.subscriptions
    this.registry = parts.registry
    this.listening = parts.listening
    this.#updates = new Updates(parts)
  }

  update(elements: readonly UpdateElement[], client?: Client): ReturnType<Broker['update']> {
    return this.#updates.update(elements, client)
  }

  rawUpdate(update: RawUpdate, client?: Client): ReturnType<Broker['rawUpdate']> {
    return this.#updates.rawUpdate(update, client)
  }

  rawElements(update: RawElements, client?: Client): ReturnType<Broker['rawElements']> {
    return this.#updates.rawElements(update, client)
  }

  entities(
    tenant: Tenant,
    paths: readonly PathRange[],
    id: EntityId,
    type: EntityType | undefined,
    client: Client,
  ): Promise<Result<readonly Entity[], Unavailable>> {
    const { readers, confirmed } = this.#parts
    const held = () => this.#held(tenant, paths, { id, type }, client)
    if (confirmed === undefined) return held()
    return confirmed.confirm([readers.partitionOf(tenant, id)]).then((known) => (known.ok ? held() : known))
  }

  reads(tenant: Tenant, paths: readonly PathRange[], client: Client): EntityReads {
    const { readers, confirmed } = this.#parts
    return new RequestReads({
      ...{ tenant, readers, confirmed },
      held: (named) => this.#held(tenant, paths, named, client),
    })
  }

  async pathsOf(
    tenant: Tenant,
    paths: readonly PathRange[],
    named: readonly EntityNamed[],
    client: Client,
  ): Promise<Result<readonly (readonly ServicePath[])[], Unavailable>> {
    const reads = this.reads(tenant, paths, client)
    const known = await reads.prepare(named.map(({ id }) => id))
    if (!known.ok) return known
    const found: (readonly ServicePath[])[] = []
    const slices = new Slices()
    for (const each of named) {
      const held = await reads.of(each)
      if (!held.ok) return held
      found.push([...new Set(held.value.map(({ path }) => path))])
      if (slices.isOver) await slices.next()
    }
    return ok(found)
  }

  /** Reads snapshots of this node that are confirmed already. */
  async #held(
    tenant: Tenant,
    paths: readonly PathRange[],
    { id, type }: EntityNamed,
    client: Client,
  ): Promise<Result<readonly Entity[], Unavailable>> {
    const { readers } = this.#parts
    const found = await this.#reading(readers.entities(tenant, paths, id, client.times), client)
    if (found === undefined) return this.#manyEntities(tenant, paths, { id: { kind: 'exact', id }, type }, client)
    return ok(type === undefined ? found : found.filter((entity) => entity.type === type))
  }

  recentEntities(tenant: Tenant, paths: readonly PathRange[], id: EntityId): readonly Entity[] | undefined {
    const { readers, confirmed } = this.#parts
    if (confirmed?.isConfirmed(readers.partitionOf(tenant, id)) === false) return undefined
    return readers.recentEntities(tenant, paths, id)
  }

  /**
   * Few exact ids are looked up here; what has to scan, and what is large, goes to the query threads. A scan ends when its
   * client has gone.
   */
  async query(query: Query, client: Client): Promise<Result<Page, Unavailable>> {
    const confirmed = this.#confirmed(query, () => this.#page(query, client))
    const page = await this.#reading(confirmed, client)
    if (!page.ok) return page
    return ok({ entities: new StoredEntities(page.value.records), count: page.value.count })
  }

  async #page(query: Query, client: Client): Promise<Result<RecordPage, Unavailable>> {
    const { readers, queries } = this.#parts
    const here = this.#isSmall(query) ? await readers.query(query, lookups, client.times) : undefined
    const page = here?.ok ? here : await queries.page(query, client)
    return held(page, client)
  }

  /** A page of a query with the last notice of each partition, which orders the page among the notices of changes [subscriptions 5.2]. */
  state(query: Query): Promise<Result<StatePage, Unavailable>> {
    return this.#confirmed(query, async () => {
      const { readers, queries } = this.#parts
      const here = this.#isSmall(query) ? await readers.state(query, lookups) : undefined
      const page = here?.ok ? here : await queries.state(query)
      if (!page.ok) return page
      const { records, lastNotices } = page.value
      return ok({ entities: await gathered(new StoredEntities(records)), lastNotices })
    })
  }

  /** Reads once the partitions of a query, or all, show what was acknowledged; refuses when that is not known in time. */
  #confirmed<Read>(
    query: Query | undefined,
    read: () => Promise<Result<Read, Unavailable>>,
  ): Promise<Result<Read, Unavailable>> {
    const { readers, confirmed } = this.#parts
    if (confirmed === undefined) return read()
    return confirmed.confirm(readers.partitionsOf(query)).then((known) => (known.ok ? read() : known))
  }

  #isSmall({ selectors, scopes }: Query): boolean {
    const small =
      selectors.length <= lookedUp &&
      selectors.every(({ id, typePattern }) => id.kind === 'exact' && typePattern === undefined) &&
      scopes.every(({ kind }) => kind === 'typed' || kind === 'untyped' || kind === 'types')
    const { log } = this.#parts
    if (log.traces[traceArea['service.fanout']] === 1) {
      log.trace('service.fanout', small ? 'query of exact ids, looked up here' : 'query handed to the query threads')
    }
    return small
  }

  /** The entities of an id that are too many or too large to be read here: as many as a page may have. */
  async #manyEntities(
    tenant: Tenant,
    paths: readonly PathRange[],
    selector: Selector,
    client: Client,
  ): Promise<Result<readonly Entity[], Unavailable>> {
    const query = {
      tenant,
      paths,
      selectors: [selector],
      attributes: [],
      scopes: [],
      order: [],
      offset: 0,
      counted: true,
    }
    const page = held(await this.#parts.queries.page({ ...query, limit: mostOfId }, client), client)
    if (!page.ok) return page
    const { records, count = 0 } = page.value
    return count > mostOfId ? err({ kind: 'pageTooLarge' }) : ok(await gathered(new StoredEntities(records)))
  }

  types(
    tenant: Tenant,
    paths: readonly PathRange[],
    client: Client,
    isDetailed = false,
  ): Promise<Result<readonly TypeSummary[], Unavailable>> {
    return this.#confirmed(undefined, async () => {
      const texts = await this.#reading(this.#parts.queries.types(tenant, paths, isDetailed, client), client)
      return texts.ok ? ok(await inSlices(summariesIn(texts.value))) : texts
    })
  }

  view<Name extends ViewName>(
    name: Name,
    request: Views[Name]['request'],
    client: Client,
  ): Promise<Result<Views[Name]['found'], Unavailable>> {
    return this.#reading(this.#parts.queries.view(name, request, client), client)
  }

  async health(): Promise<PartitionHealth> {
    const responses = await Promise.all(this.#parts.threads.map(answersPing))
    return {
      total: responses.length,
      ready: responses.filter((answered) => answered).length,
      storageFull: this.#parts.storageFull(),
    }
  }

  async #reading<Result>(read: Promise<Result>, { timed }: Client): Promise<Result> {
    const { timing } = this.#parts
    if (!timing.timingOn) return read
    const began = process.hrtime.bigint()
    const result = await read
    timing.stage('mongoReadWait', process.hrtime.bigint() - began, timed)
    return result
  }
}

/** A large page with memory for its response, or the refusal that there is none now. */
function held(page: Result<RecordPage, Unavailable>, client: Client): Result<RecordPage, Unavailable> {
  if (!page.ok) return page
  let characters = 0
  for (const record of page.value.records) characters += record.length
  const isSmall = characters <= lookups.page_bytes
  return isSmall || client.hold(responseFactor * characters) ? page : err({ kind: 'responsesFull' })
}

async function answersPing(mailbox: Pick<BoundedMailbox, 'ping'>): Promise<boolean> {
  let stop = (): void => {}
  const late = new Promise<false>((resolve) => {
    stop = whenOver(pingLimit_ms, () => resolve(false))
  })
  const response = mailbox.ping().then((result) => result.ok && answersTo(result.value.reply))
  const isReady = await Promise.race([response, late])
  stop()
  return isReady
}

/** Whose disk is too full for a turn is there all the same. */
function answersTo(reply: Reply): boolean {
  return reply.kind === 'pong' || (reply.kind === 'failed' && reply.why === 'storageFull')
}
