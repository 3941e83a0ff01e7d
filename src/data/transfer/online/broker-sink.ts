import { type GivenObject, isGivenObject } from '../../../api/ngsi2/parse/tree.js'
import { entityText, type Representation } from '../../../api/ngsi2/render/entity-text.js'
import { renderRegistration, renderSubscription } from '../../../api/ngsi2/render/shown-resources.js'
import { pathRangeText } from '../../../model/context/query.js'
import { now } from '../../../time.js'
import { CommandFailure } from '../../offline/command.js'
import {
  type EntityItem,
  type Item,
  isThere,
  leftOut,
  type Outcome,
  type PartLoss,
  type RegistrationItem,
  type Sink,
  type SinkSettings,
  type SubscriptionItem,
  type UnnumberedEntity,
} from '../items.js'
import { askBroker, type BrokerAddress, type BrokerRequest, type BrokerResponse } from './broker-connection.js'
import { instanceUpdate, lossesOf, withoutInstances } from './instance-update.js'

/** The entities and characters of one request: brokers take 1 MiB by default. */
const batch_entities = 200
const batch_characters = 500_000

/** The number of concurrent requests. */
const connections = 4

/** Imports into a running broker, through NGSIv2, and through NGSIv1 for instances of attributes, which NGSIv2 lacks. */
export class BrokerSink implements Sink {
  readonly #address: BrokerAddress
  readonly #settings: SinkSettings

  constructor(address: BrokerAddress, settings: SinkSettings) {
    this.#address = address
    this.#settings = settings
  }

  async put(items: readonly Item[]): Promise<readonly Outcome[]> {
    const outcomes = new Map<Item, Outcome>()
    const batches = batchesOf(items.flatMap((item) => (item.kind === 'entity' ? [item] : [])))
    await inParallel(batches, (batch) => this.#entities(batch, outcomes))
    for (const item of items) if (item.kind !== 'entity') outcomes.set(item, await this.#other(item))
    return items.map((item) => outcomes.get(item) ?? { kind: 'refused', reason: 'it was not sent' })
  }

  async close(): Promise<void> {}

  /** Entities of one tenant and path. */
  async #entities(batch: readonly Sendable[], outcomes: Map<Item, Outcome>): Promise<void> {
    const [first] = batch
    if (first === undefined) return
    const held = await this.#held(batch)
    const wanted = batch.filter((each) => {
      const outcome = this.#known(held.has(keyOf(each.item.entity)))
      if (outcome !== undefined) outcomes.set(each.item, outcome)
      return outcome === undefined
    })
    const done = ({ entity }: EntityItem) => ({ kind: held.has(keyOf(entity)) ? 'replaced' : 'created' }) as const
    if (this.#settings.dry) {
      for (const { item } of wanted) outcomes.set(item, done(item))
      return
    }
    if (wanted.length === 0) return
    const response = await this.#send(first.item, '/v2/op/update', {
      actionType: 'append',
      entities: wanted.map(({ body }) => body),
    })
    for (const each of wanted) {
      // Sending them one by one shows which of them is refused.
      const own = isTaken(response)
        ? response
        : await this.#send(each.item, '/v2/op/update', { actionType: 'append', entities: [each.body] })
      const refusal = isTaken(own) ? await this.#instances(each.item) : refusalOf(own)
      outcomes.set(each.item, refusal ?? { ...done(each.item), losses: lossesOf(each.item.entity) })
    }
  }

  #known(isHeld: boolean): Outcome | undefined {
    const { policy } = this.#settings
    if (!isHeld || policy === 'replace') return undefined
    return policy === 'skip' ? { kind: 'skipped' } : { kind: 'refused', reason: isThere }
  }

  /** Which of these entities the broker has. */
  async #held(batch: readonly Sendable[]): Promise<ReadonlySet<string>> {
    const [first] = batch
    if (first === undefined) return new Set()
    const entities = batch.map(({ item: { entity } }) => ({ id: entity.id, ...typeOf(entity) }))
    const query = { entities, attrs: ['dateCreated'] }
    const response = await this.#send(first.item, '/v2/op/query?limit=1000&options=keyValues', query)
    if (response.status === 400) {
      // Entities that cannot be asked for count as missing; writing them gives the reason.
      const found = new Set<string>()
      if (batch.length > 1) for (const each of batch) for (const key of await this.#held([each])) found.add(key)
      return found
    }
    if (response.status !== 200) {
      const reason = `${response.status} ${response.text.slice(0, 300)}`
      throw new CommandFailure(`${this.#address.url} was asked what is there already and answered ${reason}`)
    }
    const found: readonly { readonly id: string; readonly type: string }[] = JSON.parse(response.text)
    return new Set(found.map(keyOf))
  }

  /** Sends the parts that only NGSIv1 can express; gives the refusal, if any. */
  async #instances(item: EntityItem): Promise<Outcome | undefined> {
    const body = instanceUpdate(item.entity)
    if (body === undefined) return undefined
    const response = await this.#send(item, '/v1/updateContext', body)
    if (response.status === 200 && codesOf(response.text).every((code) => code === '200')) return undefined
    return { kind: 'refused', reason: `its instances: ${response.status} ${response.text.slice(0, 300)}` }
  }

  #other(item: Exclude<Item, EntityItem>): Promise<Outcome> | Outcome {
    if (item.kind === 'availability') return { kind: 'refused', reason: 'NGSIv2 has no subscriptions to registrations' }
    return item.kind === 'subscription' ? this.#subscription(item) : this.#registration(item)
  }

  async #subscription({ subscription }: SubscriptionItem): Promise<Outcome> {
    if (this.#settings.dry) return { kind: 'created' }
    const delivery = { timesSent: 0, discarded: 0, failsCounter: 0, queueDepth: 0, queueBytes: 0 }
    const shown = { subscription: { ...subscription, order: 0 }, delivery, fired: false }
    const { id: _, status, ...body } = withPassword(JSON.parse(renderSubscription(shown, now())), subscription)
    const { tenant, path } = subscription
    const kept = status === 'active' || status === 'expired' ? body : { ...body, status }
    const request = {
      method: 'POST',
      path: '/v2/subscriptions',
      tenant,
      servicePath: pathRangeText(path),
      body: kept,
    } as const
    const response = await askBroker(this.#address, request)
    return isTaken(response) ? { kind: 'created', losses: lossesOfSubscription(subscription) } : refusalOf(response)
  }

  /** Each of its contexts becomes a registration of its own, as NGSIv2 shows them. */
  async #registration({ registration }: RegistrationItem): Promise<Outcome> {
    const { tenant, path: servicePath, contexts } = registration
    for (const [at, context] of contexts.entries()) {
      if (this.#settings.dry) continue
      const { id: _, ...body } = JSON.parse(
        renderRegistration({ registration: { ...registration, order: 0 }, context, at }),
      )
      const response = await askBroker(this.#address, {
        method: 'POST',
        path: '/v2/registrations',
        tenant,
        servicePath,
        body,
      })
      if (!isTaken(response)) return refusalOf(response)
    }
    return { kind: 'created' }
  }

  #send({ tenant, entity }: EntityItem, path: string, body: BrokerRequest['body']): Promise<BrokerResponse> {
    return askBroker(this.#address, { method: 'POST', path, tenant, servicePath: entity.path, body })
  }
}

/** An entity in the form of NGSIv2, and its number of characters. */
interface Sendable {
  readonly item: EntityItem
  readonly body: unknown
}

/** Entities of one tenant and path, few enough for one request. */
function batchesOf(items: readonly EntityItem[]): readonly (readonly Sendable[])[] {
  const open = new Map<string, { readonly batch: Sendable[]; characters: number }>()
  const full: Sendable[][] = []
  for (const item of items) {
    const key = `${item.tenant} ${item.entity.path}`
    const text = entityText(withoutInstances(item.entity), everything)
    const gathered = open.get(key) ?? { batch: [], characters: 0 }
    gathered.batch.push({ item, body: JSON.parse(text) })
    gathered.characters += text.length
    open.set(key, gathered)
    if (gathered.batch.length < batch_entities && gathered.characters < batch_characters) continue
    full.push(gathered.batch)
    open.delete(key)
  }
  return [...full, ...[...open.values()].map(({ batch }) => batch)]
}

/** All attributes; NGSIv2 shows an expiration only if it is named. */
const everything: Representation = { form: 'normalized', attributes: ['*', 'dateExpires'], metadata: [] }

/** Does something with each, some at a time. */
async function inParallel<Each>(all: readonly Each[], work: (each: Each) => Promise<void>): Promise<void> {
  const rest = all.values()
  const worker = async (): Promise<void> => {
    for (const each of rest) await work(each)
  }
  await Promise.all(Array.from({ length: connections }, worker))
}

/** The key of an entity within its path. One without a type is shown as a Thing. */
function keyOf({ id, type }: { readonly id: string; readonly type: string }): string {
  return `${id} ${type === '' ? 'Thing' : type}`
}

function typeOf({ type }: UnnumberedEntity): { readonly type?: string } {
  return type === '' ? {} : { type }
}

function isTaken({ status }: BrokerResponse): boolean {
  return status >= 200 && status < 300
}

function refusalOf({ status, text }: BrokerResponse): Outcome {
  return { kind: 'refused', reason: `the broker answered ${status} ${text.slice(0, 300)}` }
}

/** A subscription to send: with its password, which is hidden in the shown form. */
function withPassword(shown: unknown, { terms }: SubscriptionItem['subscription']): GivenObject {
  const body = given(shown)
  const notification = given(body['notification'])
  const target = terms?.notification.target
  if (target?.kind !== 'mqtt' || target.passwd === undefined) return body
  const name = target.custom === undefined ? 'mqtt' : 'mqttCustom'
  const mqtt = { ...given(notification[name]), passwd: target.passwd }
  return { ...body, notification: { ...notification, [name]: mqtt } }
}

function given(value: unknown): GivenObject {
  if (!isGivenObject(value)) throw new Error('what NGSIv2 shows is an object')
  return value
}

/** The parts of an NGSIv1 subscription that NGSIv2 cannot express. */
function lossesOfSubscription({ interval_ms, scopes }: SubscriptionItem['subscription']): readonly PartLoss[] {
  return [
    ...(interval_ms === undefined ? [] : [leftOut('its notifications by the clock')]),
    ...(scopes.length === 0 ? [] : [leftOut('the restriction of its initial notifications')]),
  ]
}

/** The first three characters of all codes in a response of NGSIv1. */
function codesOf(text: string): readonly (string | undefined)[] {
  return Array.from(text.matchAll(/"code"\s*:\s*"(.{0,3})/gs), ([, code]) => code)
}
