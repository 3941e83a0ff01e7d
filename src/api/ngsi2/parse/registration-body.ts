import type { EntityType } from '../../../model/context/entity.js'
import type { Selector } from '../../../model/context/query.js'
import {
  entriesOf,
  everyIdPattern,
  forwardingModes,
  maxEntries,
  type RegisteredContext,
  type RegisteredEntity,
  type RegistrationTerms,
  registrationStatuses,
} from '../../../model/registration/registration.js'
import { parseNotificationUrl } from '../../../model/subscription/targets.js'
import type { Result } from '../../../result.js'
import { type Milliseconds, never } from '../../../time.js'
import { readNames, readSelectors } from './selectors.js'
import {
  type BodyRefusal,
  checked,
  type Given,
  type GivenObject,
  isGivenObject,
  member,
  parsedJson,
  readDate,
  readDescription,
  refuse,
} from './tree.js'

export interface RegistrationBody {
  readonly context: RegisteredContext
  /** `never` for one that does not expire. */
  readonly expires: Milliseconds
  readonly terms: RegistrationTerms
}

/** Reads the payload of a POST, in the order of the rows of [NGSIv2 subscriptions 10]. */
export function parseNewRegistration(body: string): Result<RegistrationBody, BodyRefusal> {
  return checked(() => {
    const given = readObject(body)
    const description = readDescription(member(given, 'description'), 'invalid description') ?? ''
    const provided = readProvided(member(given, 'dataProvided'))
    const { url, mode, legacy } = readProvider(member(given, 'provider'))
    const expires = readExpires(member(given, 'expires'))
    const status = readStatus(member(given, 'status'))
    const context = { ...provided, provider: url }
    refuseTooMany(entriesOf([context]))
    return { context, expires, terms: { description, status, mode, legacy } }
  })
}

function readObject(body: string): GivenObject {
  const given = parsedJson(body)
  if (!given.ok) refuse('Errors found in incoming JSON buffer')
  if (!isGivenObject(given.value)) refuse('not a JSON object')
  if (Object.keys(given.value).length === 0) refuse('empty payload')
  return given.value
}

function refuseTooMany(entries: number): void {
  if (entries <= maxEntries) return
  refuse(`number of registered entities and attributes: ${entries}, max number supported: ${maxEntries}`)
}

/** Lists over the limit are not parsed, since that could take long. */
function refuseLong(given: Given): void {
  if (Array.isArray(given)) refuseTooMany(given.length)
}

function readProvided(given: Given): Pick<RegisteredContext, 'entities' | 'attributes'> {
  if (given === undefined) refuse('the field /dataProvided/ is missing in payload')
  if (!isGivenObject(given)) refuse('/dataProvided/ must be a JSON object')
  if (Object.keys(given).length === 0) refuse('/dataProvided/ is empty')
  const entities = member(given, 'entities')
  const attrs = member(given, 'attrs')
  for (const list of [entities, attrs]) refuseLong(list)
  // Without entities it is stored but never found.
  const registered = entities === undefined ? [] : readEntities(entities)
  const names = readNames(attrs, 'attrs')
  return { entities: registered, attributes: names.map((name) => ({ name, type: '', isDomain: false })) }
}

function readEntities(given: Given): readonly RegisteredEntity[] {
  const selectors = readSelectors(given)
  if (selectors.some(({ id }) => id.kind === 'pattern' && id.pattern !== everyIdPattern)) {
    refuse('Unsupported idPattern', 'NotImplemented')
  }
  if (selectors.some(({ typePattern }) => typePattern !== undefined)) {
    refuse('typePattern is not supported', 'NotImplemented')
  }
  return selectors.map(registeredAs)
}

function registeredAs({ id, type = '' as EntityType }: Selector): RegisteredEntity {
  return id.kind === 'exact' ? { id: id.id, type } : { id: everyIdPattern, type, everyId: true }
}

interface GivenProvider extends Pick<RegistrationTerms, 'mode' | 'legacy'> {
  readonly url: string
}

function readProvider(given: Given): GivenProvider {
  if (given === undefined) refuse('the field /provider/ is missing in payload')
  if (!isGivenObject(given)) refuse('/provider/ must be a JSON object')
  if (Object.keys(given).length === 0) refuse('/provider/ empty')
  const http = member(given, 'http')
  if (http === undefined) refuse('/provider/ must contain a field /http/')
  if (!isGivenObject(http)) refuse('/http/ must be a JSON object')
  const url = readUrl(member(http, 'url'))
  const mode = readMode(member(given, 'supportedForwardingMode'))
  const legacy = member(given, 'legacyForwarding')
  if (legacy !== undefined && typeof legacy !== 'boolean') refuse('the field /legacyForwarding/ must be a boolean')
  return { url, mode, legacy: legacy === true }
}

function readMode(given: Given): RegistrationTerms['mode'] {
  const wrong = {
    noText: '/supportedForwardingMode/ must be a JSON string',
    unknown: 'invalid value of /supportedForwardingMode/',
  }
  return given === undefined ? 'all' : readWord(given, forwardingModes, wrong)
}

function readUrl(given: Given): string {
  if (given === undefined) refuse('/http/ must contain a field /url/')
  if (typeof given !== 'string') refuse('/url/ field of /http/ must be a JSON string')
  if (given === '') refuse('/url/ field of /http/ cannot be the empty string')
  const scheme = parseNotificationUrl(given)?.scheme
  if (scheme !== 'http' && scheme !== 'https') refuse('/url/ field of /http/ is invalid')
  return given
}

function readExpires(given: Given): Milliseconds {
  if (given === undefined) return never
  return readDate(given, 'expires is not a string', 'the field /expires/ has an invalid format')
}

function readStatus(given: Given): RegistrationTerms['status'] {
  const wrong = { noText: '/status/ must be a string', unknown: 'invalid value for /status/' }
  return given === undefined ? 'active' : readWord(given, registrationStatuses, wrong)
}

function readWord<Word extends string>(
  given: Given,
  words: readonly Word[],
  { noText, unknown }: { readonly noText: string; readonly unknown: string },
): Word {
  if (typeof given !== 'string') refuse(noText)
  return words.find((word) => word === given) ?? refuse(unknown)
}
