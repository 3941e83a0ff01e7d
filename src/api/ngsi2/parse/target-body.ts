import { hasForbidden, hasForbiddenInId, type Value } from '../../../model/context/entity.js'
import { writeInSteps } from '../../../model/context/large/written-value.js'
import { type TemplateText, templateText } from '../../../model/expression/json-template.js'
import { hasMacro } from '../../../model/expression/macros.js'
import { parseNotificationUrl, streamReference } from '../../../model/subscription/targets.js'
import type {
  HttpTarget,
  HttpTemplate,
  MqttTarget,
  NotificationTarget,
  Template,
} from '../../../model/subscription/terms.js'
import type { Steps } from '../../../slices.js'
import {
  type Given,
  type GivenObject,
  type Identified,
  identifierMistake,
  isGivenObject,
  member,
  refuse,
  refuseTooDeep,
} from './tree.js'

interface TargetPayload {
  readonly reference: string
  readonly target: NotificationTarget
}

type GivenJson = { readonly [name: string]: Value }

const kinds = ['http', 'httpCustom', 'mqtt', 'mqttCustom', 'kafka', 'kafkaCustom'] as const
const customKinds = ['httpCustom', 'mqttCustom'] as const satisfies readonly (typeof kinds)[number][]
const kindNames = 'http, httpCustom, mqtt, mqttCustom, kafka or kafkaCustom'

/** Writes the JSON of templates in the payload of a subscription in steps, so that `readTarget` need not write it at once. */
export function* writeTemplates(payload: Given): Steps<void> {
  const notification = isGivenObject(payload) ? member(payload, 'notification') : undefined
  if (!isGivenObject(notification)) return
  for (const kind of customKinds) {
    const target = member(notification, kind)
    if (!isGivenObject(target)) continue
    for (const name of ['json', 'ngsi']) yield* writeInSteps((member(target, name) ?? null) as Value) // It was parsed as JSON.
  }
}

/**
 * Reads the single target of a notification, one of six kinds [NGSIv2 subscriptions 2.2, 2.5]. Kafka is known but not supported.
 */
export function readTarget(notification: GivenObject): TargetPayload | 'kafka' {
  const [kind, ...others] = kinds.filter((name) => member(notification, name) !== undefined)
  if (kind === undefined) refuse(`${kindNames} is missing`)
  if (others.length > 0) refuse(`only one of ${kindNames} is allowed`)
  const given = member(notification, kind)
  if (!isGivenObject(given)) refuse(`${kind} notification is not an object`)
  switch (kind) {
    case 'http':
      return readHttp(given)
    case 'httpCustom':
      return readHttpCustom(given)
    case 'mqtt':
    case 'mqttCustom':
      return readMqtt(given, kind)
    default:
      return 'kafka'
  }
}

function readHttp(given: GivenObject): TargetPayload {
  const reference = readUrl(given, 'http', 'forbidden characters in http field /url/')
  if (reference !== streamReference) {
    const url = parseNotificationUrl(reference)
    if (url === undefined) refuse('Invalid URL parsing notification url')
    refuseOtherThanHttp(url.scheme)
  }
  return { reference, target: { kind: 'http', timeout_ms: readTimeout(given), custom: undefined } }
}

function readHttpCustom(given: GivenObject): TargetPayload {
  const reference = readUrl(given, 'httpCustom', 'forbidden characters in custom /url/')
  const url = parseNotificationUrl(reference)
  if (url === undefined && reference !== streamReference && !hasMacro(reference)) refuse('invalid custom /url/')
  // The scheme is checked even where macros leave the rest open.
  const [, scheme = url?.scheme ?? ''] = /^(mqtt|kafka):\/\//i.exec(reference) ?? []
  refuseOtherThanHttp(scheme.toLowerCase())
  const method = readMethod(member(given, 'method'))
  const template = readTemplate(given)
  const qs = readPairs(member(given, 'qs'), 'qs')
  const headers = readPairs(member(given, 'headers'), 'headers')
  const custom: HttpTemplate = {
    ...template,
    ...(method !== undefined && { method }),
    ...(qs !== undefined && { qs }),
    ...(headers !== undefined && { headers }),
  }
  const target: HttpTarget = { kind: 'http', timeout_ms: readTimeout(given), custom }
  return { reference, target }
}

function refuseOtherThanHttp(scheme: string): void {
  if (scheme === 'mqtt' || scheme === 'kafka') refuse(`${scheme} URL cannot be used in http notifications`)
}

function readUrl(given: GivenObject, kind: 'http' | 'httpCustom' | 'mqtt', forbidden: string): string {
  const url = member(given, 'url')
  if (url === undefined) refuse(`url ${kind} notification is missing`)
  if (typeof url !== 'string') refuse(`url ${kind} notification is not a string`)
  if (hasForbidden(url)) refuse(forbidden)
  return url
}

const maxTimeout_ms = 1_800_000

function readTimeout(given: GivenObject): number {
  const timeout = member(given, 'timeout')
  if (timeout === undefined) return 0
  if (!Number.isInteger(timeout)) refuse('timeout is not an int')
  const timeout_ms = Number(timeout)
  if (timeout_ms < 0 || timeout_ms > maxTimeout_ms) refuse('timeout field must be an integer between 0 and 1800000')
  return timeout_ms
}

/** All methods but CONNECT, which asks for a tunnel [NGSIv2 subscriptions 2.5]. */
const methods: ReadonlySet<string> = new Set(['GET', 'PUT', 'POST', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS', 'TRACE'])

function readMethod(given: Given): string | undefined {
  if (given === undefined) return undefined
  if (typeof given !== 'string') refuse('method httpCustom notification is not a string')
  if (!methods.has(given)) refuse('unknown method httpCustom notification')
  return given
}

function readTemplate(given: GivenObject): Template {
  const [payload, json, ngsi] = [member(given, 'payload'), member(given, 'json'), member(given, 'ngsi')]
  if ([payload, json, ngsi].filter((one) => one !== undefined).length > 1) {
    refuse(
      'only one of payload, json or ngsi fields accepted at the same time in httpCustom, mqttCustom or kafkaCustom',
    )
  }
  if (payload !== undefined) return { payload: readPayload(payload) }
  if (json !== undefined) {
    if (typeof json !== 'object' || json === null) {
      refuse('json fields in httpCustom, mqttCustom or kafkaCustom must be object or array')
    }
    const text = templateText(json as Value[] | GivenJson) // It was parsed as JSON.
    refuseTooDeep(text)
    return { json: text }
  }
  return ngsi === undefined ? {} : { ngsi: readNgsiTemplate(ngsi) }
}

function readPayload(given: Given): string | null {
  if (given === null) return null
  if (typeof given !== 'string') refuse('payload custom notification is not a string')
  if (hasForbidden(given)) refuse('forbidden characters in custom /payload/')
  return given
}

/** Headers: the limit for requests to Rigel. Parameters: the limit for lists of a subscription. */
const mostPairs = { headers: 200, qs: 1000 } as const

function readPairs(given: Given, name: 'qs' | 'headers'): Readonly<Record<string, string>> | undefined {
  if (given === undefined) return undefined
  const what = `notification httpCustom ${name}`
  if (!isGivenObject(given)) refuse(`${what} is not an object`)
  const pairs = Object.entries(given)
  if (pairs.length === 0) refuse(`${what} is empty`)
  if (pairs.length > mostPairs[name]) refuse(`too many elements in ${what} [max: ${mostPairs[name]}]`)
  for (const [key, value] of pairs) {
    if (typeof value !== 'string') refuse(`${what} element is not a string`)
    const checkedValue = name === 'headers' ? value.replace(/['"]/g, '') : value
    if (hasForbidden(key) || hasForbidden(checkedValue)) {
      refuse(`forbidden characters in custom ${what}`)
    }
  }
  return Object.fromEntries(pairs.map(([key, value]) => [key, String(value)]))
}

function readMqtt(given: GivenObject, kind: 'mqtt' | 'mqttCustom'): TargetPayload {
  const reference = readUrl(given, 'mqtt', 'forbidden characters in mqtt field /url/')
  const url = parseNotificationUrl(reference)
  if (url === undefined) refuse('invalid mqtt /url/')
  if (url.scheme !== 'mqtt') refuse('http or https URL cannot be used in mqtt notifications')
  if (url.path !== '') refuse('path cannot be used in mqtt url, use topic instead')
  const credentials = readCredentials(given)
  const qos = readQos(member(given, 'qos'))
  const retain = readRetain(member(given, 'retain'))
  const topic = readTopic(member(given, 'topic'))
  const custom = kind === 'mqttCustom' ? readTemplate(given) : undefined
  const target: MqttTarget = { kind: 'mqtt', topic, qos, retain, ...credentials, custom }
  return { reference, target }
}

function readCredentials(given: GivenObject): Pick<MqttTarget, 'user' | 'passwd'> {
  const [user, passwd] = [member(given, 'user'), member(given, 'passwd')]
  if (user !== undefined && typeof user !== 'string') refuse('user mqtt notification is not a string')
  if (passwd !== undefined && typeof passwd !== 'string') refuse('passwd mqtt notification is not a string')
  if (user !== undefined && hasForbidden(user)) refuse('forbidden characters in mqtt /user/')
  if ((user === undefined) !== (passwd === undefined)) refuse('you must use user and passwd fields simultaneously')
  return { user, passwd }
}

function readQos(given: Given): MqttTarget['qos'] {
  if (given === undefined) return 0
  if (!Number.isInteger(given)) refuse('qos is not an int')
  if (given === 0 || given === 1 || given === 2) return given
  refuse('mqtt qos field must be an integer in the 0 to 2 range')
}

function readRetain(given: Given): boolean {
  if (given === undefined) return false
  if (typeof given !== 'boolean') refuse('retain is not a bool')
  return given
}

function readTopic(given: Given): string {
  if (given === undefined) refuse('topic mqtt notification is missing')
  if (typeof given !== 'string') refuse('topic mqtt notification is not a string')
  if (given === '') refuse('empty mqtt field /topic/')
  if (/[+#]/.test(given)) refuse('+ and # are not allowed in mqtt field /topic/')
  if (hasForbidden(given)) refuse('forbidden characters in mqtt field /topic/')
  return given
}

const attributeMembers: ReadonlySet<string> = new Set(['value', 'type', 'metadata'])
const metadataMembers: ReadonlySet<string> = new Set(['value', 'type'])
const maxPriority = 100_000

/** The level at which the values of attributes stand. */
const levelOfValues = 2

/**
 * Reads the attributes that a custom notification sets on its entity. They are kept as given: special types have no meaning in
 * them, and forbidden characters are allowed [NGSIv2 subscriptions 2.5].
 */
function readNgsiTemplate(given: Given): TemplateText {
  if (!isGivenObject(given)) refuse('ngsi field in httpCustom, mqttCustom or kafkaCustom must be object')
  for (const [name, item] of Object.entries(given)) {
    if (name === 'id' || name === 'type') {
      if (typeof item !== 'string') refuse(`Invalid JSON type for entity ${name}`)
    } else {
      checkIdentifier('attribute name', name)
      checkAttribute(item)
    }
  }
  const text = templateText(given as GivenJson) // It was parsed as JSON.
  refuseTooDeep(text, levelOfValues)
  return text
}

function checkIdentifier(what: Identified, text: string): void {
  const mistake = identifierMistake(what, text, hasForbiddenInId)
  if (mistake !== undefined) refuse(mistake)
}

function checkAttribute(given: Given): void {
  if (!isGivenObject(given)) refuse('attribute must be a JSON object, unless keyValues option is used')
  for (const [name, item] of Object.entries(given)) {
    if (!attributeMembers.has(name)) refuse('unrecognized property for context attribute')
    if (name === 'type') {
      if (typeof item !== 'string') refuse('invalid JSON type for attribute type')
      checkIdentifier('attribute type', item)
    }
    if (name === 'metadata') checkMetadata(item)
  }
}

function checkMetadata(given: Given): void {
  if (!isGivenObject(given)) refuse('metadata not a JSON object')
  for (const [name, element] of Object.entries(given)) {
    if (name !== 'evalPriority') {
      refuse('only evalPriority metadata is allowed in ngsi field in custom notifications')
    }
    if (!isGivenObject(element)) refuse('metadata must be a JSON object')
    checkElement(element)
  }
}

function checkElement(element: GivenObject): void {
  for (const [name, item] of Object.entries(element)) {
    if (!metadataMembers.has(name)) refuse('invalid JSON field for attribute metadata')
    if (name === 'type') {
      if (typeof item !== 'string') refuse('invalid JSON type for attribute metadata type')
      checkIdentifier('metadata type', item)
    }
  }
  const priority = member(element, 'value')
  if (typeof priority !== 'number') refuse('evalPriority metadata must be a number')
  if (priority < 1) refuse('evalPriority metadata minimum priority is 1')
  if (priority > maxPriority) refuse('evalPriority metadata maximum priority is 100000')
}
