import type { Client } from '../api.js'
import type { Entity, EntityId, EntityType, Tenant } from '../context/entity.js'
import { gathered, type Page, type PathRange, type Query, type Selector } from '../context/query.js'
import type { UpdateCommand, UpdateElement, UpdateReply } from '../context/update.js'
import { shardOf } from '../hash.js'
import { StoredEntities } from '../lmdb/record.js'
import type { RecordPage } from '../lmdb/result-page.js'
import type { Log } from '../log/log.js'
import { type Addressed, askAll } from '../mailbox/ask-all.js'
import type { Mailbox, MailboxRefusal, Posted } from '../mailbox/mailbox.js'
import type { RequestMeter } from '../measure/requests.js'
import type { Options } from '../options.js'
import type { RawUpdateReply, Reply } from '../partition/commands.js'
import type { Result } from '../result.js'
import { err, ok } from '../result.js'
import type { Sequence, SequenceCounter } from '../shared-memory/sequences.js'
import { atOnce, inSlices, mapInSlices } from '../slices.js'
import { type Milliseconds, now } from '../time.js'
import { traceArea } from '../trace-area.js'
import type { Broker, PartitionHealth, RawUpdate, SubscriptionService, TypeSummary, Unavailable } from './broker.js'
import type { PartitionReaders, StatePage } from './partition-readers.js'
import type { QueryPool } from './query-pool.js'
import type { RegistryService } from './registry-service.js'
import { type Replied, repliesOf } from './update-replies.js'

export interface FrontBrokerParts {
  /** One per partition, in the order of their numbers. */
  readonly mailboxes: readonly Mailbox[]
  readonly readers: PartitionReaders
  readonly queries: QueryPool
  readonly sequences: SequenceCounter
  readonly timing: Pick<RequestMeter, 'timingOn' | 'stage'>
  /** Whether the last commit of some partition failed for want of room. */
  readonly storageFull: () => boolean
  readonly subscriptions: SubscriptionService
  readonly registry: RegistryService
  readonly log: Log
}

/** A response exists several times on its way: as records, rendered, joined, and in the buffers of its socket. */
const answerFactor = 4

/** The bytes that a page may have: its response must find room. */
export function pageLimit_bytes({ pageMaxSize, responseMemory_MiB }: PageLimits): number {
  return Math.min(pageMaxSize, (responseMemory_MiB * 2 ** 20) / answerFactor)
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
  readonly #parts: FrontBrokerParts

  constructor(parts: FrontBrokerParts) {
    this.#parts = parts
  }

  get subscriptions(): SubscriptionService {
    return this.#parts.subscriptions
  }

  get registry(): RegistryService {
    return this.#parts.registry
  }

  async update(elements: readonly UpdateElement[]): Promise<Result<readonly UpdateReply[], Unavailable>> {
    const time = now()
    const [first] = elements
    const sent =
      first && elements.length === 1 ? await this.#updateOne(first, time) : await this.#updateAll(elements, time)
    if (!sent.ok) return sent
    if (this.#parts.timing.timingOn) this.#timeUpdate(sent.value)
    const replies = repliesOf(elements, sent.value)
    return elements.length === 1 ? atOnce(replies) : inSlices(replies)
  }

  rawUpdate(update: RawUpdate): Promise<Result<RawUpdateReply, Unavailable>> {
    const { tenant, path, id, body, flags, origin } = update
    const sequence = this.#parts.sequences.next()
    const command = { kind: 'rawUpdate', sequence, time: now(), tenant, path, body, flags, origin } as const
    return this.#mailbox(tenant, id)
      .ask(command)
      .then((result) => this.#rawReply(result))
  }

  async entities(
    tenant: Tenant,
    paths: readonly PathRange[],
    id: EntityId,
    type: EntityType | undefined,
    client: Client,
  ): Promise<Result<readonly Entity[], Unavailable>> {
    const found = await this.#reading(this.#parts.readers.entities(tenant, paths, id))
    if (found === undefined) return this.#manyEntities(tenant, paths, { id: { kind: 'exact', id }, type }, client)
    return ok(type === undefined ? found : found.filter((entity) => entity.type === type))
  }

  recentEntities(tenant: Tenant, paths: readonly PathRange[], id: EntityId): readonly Entity[] | undefined {
    return this.#parts.readers.recentEntities(tenant, paths, id)
  }

  /**
   * Few exact ids are looked up here; what has to scan, and what is large, goes to the query threads. A scan ends when its
   * client has gone.
   */
  async query(query: Query, client: Client): Promise<Result<Page, Unavailable>> {
    const page = await this.#reading(this.#page(query, client))
    if (!page.ok) return page
    return ok({ entities: new StoredEntities(page.value.records), count: page.value.count })
  }

  async #page(query: Query, client: Client): Promise<Result<RecordPage, Unavailable>> {
    const { readers, queries } = this.#parts
    const here = this.#isSmall(query) ? await readers.query(query, lookups) : undefined
    const page = here?.ok ? here : await queries.page(query, client)
    return held(page, client)
  }

  /** The same, with what is needed to order the page among the notices of changes [subscriptions 5.2]. */
  async state(query: Query): Promise<Result<StatePage, Unavailable>> {
    const { readers, queries } = this.#parts
    const here = this.#isSmall(query) ? await readers.state(query, lookups) : undefined
    const page = here?.ok ? here : await queries.state(query)
    if (!page.ok) return page
    const { records, lastNotices } = page.value
    return ok({ entities: await gathered(new StoredEntities(records)), lastNotices })
  }

  #isSmall({ selectors, scopes }: Query): boolean {
    const small =
      selectors.length <= lookedUp &&
      selectors.every(({ id }) => id.kind === 'exact') &&
      scopes.every(({ kind }) => kind === 'typed' || kind === 'untyped')
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
  ): Promise<Result<readonly TypeSummary[], Unavailable>> {
    return this.#reading(this.#parts.queries.types(tenant, paths, client))
  }

  async health(): Promise<PartitionHealth> {
    const answers = await Promise.all(this.#parts.mailboxes.map(answersPing))
    return {
      total: answers.length,
      ready: answers.filter((answered) => answered).length,
      storageFull: this.#parts.storageFull(),
    }
  }

  async #updateOne(element: UpdateElement, time: Milliseconds): Promise<Result<Replied, MailboxRefusal>> {
    const result = await this.#mailbox(element.tenant, element.id).ask(this.#commandOf(element, time))
    return result.ok ? ok([result]) : result
  }

  /** Every command is made before the first one is sent. */
  async #updateAll(elements: readonly UpdateElement[], time: Milliseconds): Promise<Result<Replied, MailboxRefusal>> {
    const addressed = mapInSlices(elements, (element) => this.#addressed(element, time))
    return askAll(addressed instanceof Promise ? await addressed : addressed)
  }

  #addressed(element: UpdateElement, time: Milliseconds): Addressed {
    return { mailbox: this.#mailbox(element.tenant, element.id), command: this.#commandOf(element, time) }
  }

  #commandOf(element: UpdateElement, time: Milliseconds): UpdateCommand {
    return commandOf(element, this.#parts.sequences.next(), time)
  }

  #mailbox(tenant: Tenant, id: EntityId): Mailbox {
    const { mailboxes, log } = this.#parts
    const partition = shardOf(tenant, id, mailboxes.length)
    if (log.traces[traceArea['service.partition']] === 1) {
      log.trace('service.partition', `${id} belongs to partition ${partition}`, { owner: partition })
    }
    const mailbox = mailboxes[partition]
    if (!mailbox) throw new Error('there is no partition for the id')
    return mailbox
  }

  #rawReply(result: Result<Posted, MailboxRefusal>): Result<RawUpdateReply, Unavailable> {
    if (!result.ok) return result
    const { reply, decided_ns, committed_ns } = result.value
    if (reply.kind !== 'rawUpdate') return failed(reply)
    const { timing } = this.#parts
    if (timing.timingOn && reply.spent) {
      const { parse_ns, render_ns } = reply.spent
      timing.stage('jsonV1Parse', BigInt(parse_ns))
      timing.stage('render', BigInt(render_ns))
      this.#timeTurn(Math.max(0, decided_ns - parse_ns - render_ns), committed_ns)
    }
    return ok(reply)
  }

  /** Elements of one request that share a turn share its cost; the longest turn is what the request took. */
  #timeUpdate(outcomes: Replied): void {
    let [decided_ns, committed_ns] = [0, 0]
    for (const result of outcomes) {
      if (!result.ok) continue
      decided_ns = Math.max(decided_ns, result.value.decided_ns)
      committed_ns = Math.max(committed_ns, result.value.committed_ns)
    }
    this.#timeTurn(decided_ns, committed_ns)
  }

  #timeTurn(decided_ns: number, committed_ns: number): void {
    const { timing } = this.#parts
    timing.stage('mongoBackend', BigInt(decided_ns))
    timing.stage('mongoWriteWait', BigInt(committed_ns))
  }

  async #reading<Result>(read: Promise<Result>): Promise<Result> {
    const { timing } = this.#parts
    if (!timing.timingOn) return read
    const began = process.hrtime.bigint()
    const result = await read
    timing.stage('mongoReadWait', process.hrtime.bigint() - began)
    return result
  }
}

/** A large page with memory for its response, or the refusal that there is none now. */
function held(page: Result<RecordPage, Unavailable>, client: Client): Result<RecordPage, Unavailable> {
  if (!page.ok) return page
  let characters = 0
  for (const record of page.value.records) characters += record.length
  const isSmall = characters <= lookups.page_bytes
  return isSmall || client.hold(answerFactor * characters) ? page : err({ kind: 'answersFull' })
}

/** Written member by member: a spread would make a slow object of it, for every update. */
function commandOf(element: UpdateElement, sequence: Sequence, time: Milliseconds): UpdateCommand {
  const { tenant, path, id, type, action, attributes, autocast, terms, origin } = element
  return { kind: 'update', sequence, time, tenant, path, id, type, action, attributes, autocast, terms, origin }
}

/** Full storage is a refusal; everything else that is no reply to what was asked is a fault. */
function failed(reply: Reply): Result<never, Unavailable> {
  if (reply.kind === 'failed' && reply.why === 'storageFull') return err({ kind: 'storageFull' })
  throw new Error(`the partition answered an update with ${reply.kind}; its log may say why`)
}

async function answersPing(mailbox: Mailbox): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), pingLimit_ms)
  })
  const asked = mailbox.ping().then((result) => result.ok && answersTo(result.value.reply))
  const answered = await Promise.race([asked, late])
  clearTimeout(timer)
  return answered
}

/** Whose disk is too full for a turn is there all the same. */
function answersTo(reply: Reply): boolean {
  return reply.kind === 'pong' || (reply.kind === 'failed' && reply.why === 'storageFull')
}
