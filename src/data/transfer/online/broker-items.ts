import { parseNewRegistration } from '../../../api/ngsi2/parse/registration-body.js'
import { kafkaUnsupported, parseNewSubscription } from '../../../api/ngsi2/parse/subscription-body.js'
import { checked, type Given, type GivenObject, isGivenObject, member, refuse } from '../../../api/ngsi2/parse/tree.js'
import { newSubscription } from '../../../api/ngsi2/subscription-requests.js'
import type {
  Attribute,
  EntityId,
  EntityType,
  Metadata,
  ServicePath,
  Tenant,
  Value,
} from '../../../model/context/entity.js'
import { shapeOfLocation } from '../../../model/context/location.js'
import { type PathRange, pathRangeText } from '../../../model/context/query.js'
import { everywhere } from '../../../model/context/scope-headers.js'
import { isDateType, parseDate } from '../../../model/context/value.js'
import type { RegistrationId } from '../../../model/registration/registration.js'
import type { SubscriptionId } from '../../../model/subscription/subscription.js'
import { hiddenPassword } from '../../../model/subscription/terms.js'
import { atOnce } from '../../../slices.js'
import { type Milliseconds, now } from '../../../time.js'
import { CommandFailure } from '../../offline/command.js'
import { sorted } from '../entity-line.js'
import type { ExportFilter } from '../export-file.js'
import type { EntityItem, Item, RegistrationItem, SubscriptionItem } from '../items.js'
import { LineFields } from '../line-fields.js'
import { askBroker, type BrokerAddress } from './broker-connection.js'

/** Things of one page. */
const page = 500

/** What is said of something that cannot be exported. */
export type Lost = (what: string, reason: string) => void

/** Everything of one tenant that a broker shows through NGSIv2 and a filter lets through. Throws `CommandFailure`. */
export async function* brokerItems(address: BrokerAddress, filter: ExportFilter, lost: Lost): AsyncGenerator<Item> {
  const { kinds, type, tenant = '' as Tenant } = filter
  const named = type === undefined ? '' : `&type=${encodeURIComponent(type)}`
  const reads: readonly (readonly [kind: Item['kind'], path: string, read: (given: Given) => Item])[] = [
    ['entity', `/v2/entities?${shown}${named}`, (given) => entityOfResponse(given, tenant, filter.path)],
    ['subscription', '/v2/subscriptions?', (given) => subscriptionOfResponse(given, tenant, filter.path, lost)],
    ['registration', '/v2/registrations?', (given) => registrationOfResponse(given, tenant, filter.path)],
  ]
  for (const [kind, path, read] of reads) {
    if (!kinds.has(kind)) continue
    for await (const given of pages(address, path, filter)) {
      const item = checked(() => read(given))
      if (item.ok) yield item.value
      else lost(`${kind} ${idOf(given)}`, item.error.description)
    }
  }
}

const shown =
  'attrs=*,dateCreated,dateModified,dateExpires,servicePath&metadata=*,dateCreated,dateModified&orderBy=dateCreated'

function idOf(given: Given): string {
  const id = memberOf(given, 'id')
  return typeof id === 'string' ? id : ''
}

/**
 * All of a list. Something may be removed meanwhile, and what comes after it moves up: so each page begins with the last one of the page
 * before. If it does not, the pages before are read again, back to one that begins with something known.
 */
async function* pages(address: BrokerAddress, path: string, filter: ExportFilter): AsyncGenerator<Given> {
  const read = new ReadAlready()
  for (let offset = 0; ; ) {
    const list = await pageAt(address, `${path}&limit=${page}&offset=${offset}`, filter)
    if (offset > 0 && (list.length === 0 || !read.has(list[0]))) {
      offset = Math.max(0, offset - page)
      continue
    }
    for (const given of list) if (read.add(given)) yield given
    if (list.length < page) return
    offset += page - 1
  }
}

async function pageAt(address: BrokerAddress, query: string, filter: ExportFilter): Promise<readonly Given[]> {
  const { tenant = '', path: range = everywhere } = filter
  const request = { method: 'GET', path: query, tenant, servicePath: pathRangeText(range) } as const
  const { status, text } = await askBroker(address, request)
  const list: unknown = status === 200 ? JSON.parse(text) : undefined
  if (!Array.isArray(list)) throw new CommandFailure(`${address.url}${query} answered ${status} ${text.slice(0, 300)}`)
  return list
}

/**
 * What was read of a list in the order of creation. The names of those of the last moment tell all others apart by their dates; of
 * a list without dates all names are kept.
 */
class ReadAlready {
  #last = Number.NEGATIVE_INFINITY
  #names = new Set<string>()

  has(given: Given): boolean {
    const created = createdOf(given)
    return created < this.#last || (created === this.#last && this.#names.has(nameOf(given)))
  }

  /** Whether it was not read before. */
  add(given: Given): boolean {
    if (this.has(given)) return false
    const created = createdOf(given)
    if (created > this.#last) this.#names = new Set()
    this.#last = created
    this.#names.add(nameOf(given))
    return true
  }
}

function memberOf(given: Given, name: string): Given {
  return isGivenObject(given) ? member(given, name) : undefined
}

/** In seconds since 1970; 0 for what has no date. */
function createdOf(given: Given): number {
  const date = memberOf(memberOf(given, 'dateCreated'), 'value')
  return (typeof date === 'string' ? parseDate(date) : undefined) ?? 0
}

/** What tells the things of a list apart. */
function nameOf(given: Given): string {
  const path = memberOf(memberOf(given, 'servicePath'), 'value')
  return JSON.stringify([memberOf(given, 'id'), memberOf(given, 'type'), path])
}

/** What tells when and where an entity is. */
const builtin = new Set(['dateCreated', 'dateModified', 'servicePath'])

function entityOfResponse(given: Given, tenant: Tenant, range: PathRange | undefined): EntityItem {
  const fields = new LineFields(given, '')
  const members = given as GivenObject // It is an object: its fields were just made.
  const builtinOf = (name: string): Given =>
    members[name] === undefined ? undefined : new LineFields(members[name], name).given('value')
  const created = momentOf(builtinOf('dateCreated')) ?? now()
  const modified = momentOf(builtinOf('dateModified')) ?? created
  const names = Object.keys(members).filter((name) => name !== 'id' && name !== 'type' && !builtin.has(name))
  const attributes = names.map((name) => attributeOfResponse(name, members[name], created, modified))
  const servicePath = builtinOf('servicePath') ?? (range === undefined || range.below ? '/' : range.path)
  const type = fields.storedName('type', '')
  return {
    kind: 'entity',
    tenant,
    entity: {
      path: new LineFields({ servicePath }, '').path() as ServicePath,
      id: fields.storedName('id') as EntityId,
      type: type as EntityType,
      created,
      modified,
      attributes: sorted(withOneLocation(attributes)),
    },
  }
}

function attributeOfResponse(name: string, given: Given, created: Milliseconds, modified: Milliseconds): Attribute {
  const fields = new LineFields(given, name)
  const type = fields.storedName('type', '')
  const elements = Object.entries(metadataOfResponse(fields.given('metadata')))
  const dateOf = (element: string): Milliseconds | undefined =>
    momentOf(elements.find(([key]) => key === element)?.[1].value)
  const own = elements.filter(([key]) => key !== 'dateCreated' && key !== 'dateModified').map(([, element]) => element)
  const id = own.find((element) => element.name === 'ID')?.value
  const instance = typeof id === 'string' ? id : ''
  const mark = own.some((element) => element.name === 'location' && element.value === 'WGS84')
  const value = stored(fields.value('value'), type)
  const isShape = shapeOfLocation({ type: mark ? 'geo:point' : type, value }) !== undefined
  const isIgnored = own.some((element) => element.name === 'ignoreType' && element.value === true)
  const isGeo = type.startsWith('geo:') && typeof value !== 'number'
  return {
    name,
    instance,
    type,
    value,
    isLocation: (mark || (isGeo && !isIgnored)) && isShape,
    metadata: own.filter(
      (element) => !(element.name === 'ID' && instance !== '') && !(element.name === 'location' && mark),
    ),
    created: dateOf('dateCreated') ?? created,
    modified: dateOf('dateModified') ?? modified,
  }
}

/** A date is stored as the number of its seconds. */
function stored(value: Value, type: string): Value {
  return isDateType(type) && typeof value === 'string' ? (parseDate(value) ?? value) : value
}

function metadataOfResponse(given: Given): Readonly<Record<string, Metadata>> {
  if (given === undefined) return {}
  if (typeof given !== 'object' || given === null) refuse('metadata is not an object')
  return Object.fromEntries(
    Object.entries(given).map(([name, element]) => {
      const fields = new LineFields(element, `metadata ${name}`)
      const type = fields.storedName('type', '')
      return [name, { name, type, value: stored(fields.value('value'), type) }]
    }),
  )
}

function momentOf(given: Given): Milliseconds | undefined {
  if (typeof given === 'number') return Math.round(given * 1000) as Milliseconds
  const seconds = typeof given === 'string' ? parseDate(given) : undefined
  return seconds === undefined ? undefined : (Math.round(seconds * 1000) as Milliseconds)
}

/** Several attributes may have a shape; which of them counts nobody says. */
function withOneLocation(attributes: readonly Attribute[]): readonly Attribute[] {
  const location = attributes.find((attribute) => attribute.isLocation)
  return attributes.map((attribute) => (attribute === location ? attribute : { ...attribute, isLocation: false }))
}

function subscriptionOfResponse(
  given: Given,
  tenant: Tenant,
  range: PathRange | undefined,
  lost: Lost,
): SubscriptionItem {
  const fields = new LineFields(given, '')
  const { id: _, status, ...rest } = given as GivenObject
  const isSettable = status === 'inactive' || status === 'oneshot'
  const body = atOnce(parseNewSubscription(JSON.stringify({ ...rest, ...(isSettable && { status }) })))
  if (!body.ok) refuse(body.error.description)
  if ('kafka' in body.value) refuse(kafkaUnsupported)
  const { target } = body.value.notification
  const id = fields.hexId() as SubscriptionId
  if (target.kind === 'mqtt' && target.passwd === hiddenPassword)
    lost(`subscription ${id}`, 'its password of MQTT is not shown')
  const made = newSubscription(tenant, range ?? everywhere, body.value, now())
  return { kind: 'subscription', subscription: { ...made, id }, stats: undefined, ticked: undefined }
}

function registrationOfResponse(given: Given, tenant: Tenant, range: PathRange | undefined): RegistrationItem {
  const fields = new LineFields(given, '')
  const body = parseNewRegistration(JSON.stringify(given))
  if (!body.ok) refuse(body.error.description)
  const { context, expires, terms } = body.value
  const path = range === undefined || range.below ? ('/' as ServicePath) : range.path
  const registration = { id: fields.hexId() as RegistrationId, tenant, path, expires, contexts: [context], terms }
  return { kind: 'registration', registration }
}
