import { kafkaUnsupported, parseNewSubscription } from '../../../api/ngsi2/parse/subscription-body.js'
import { type Given, type GivenObject, isGivenObject, refuse } from '../../../api/ngsi2/parse/tree.js'
import { newSubscription } from '../../../api/ngsi2/subscription-requests.js'
import { maxNesting } from '../../../json-reader.js'
import type { Tenant, Value } from '../../../model/context/entity.js'
import { everywhere } from '../../../model/context/scope-headers.js'
import type { DeliveryStats } from '../../../model/subscription/notice.js'
import type { SubscriptionId } from '../../../model/subscription/subscription.js'
import { atOnce } from '../../../slices.js'
import { type Milliseconds, never } from '../../../time.js'
import { changed, type PartLoss, type SubscriptionItem } from '../items.js'
import { LineFields } from '../line-fields.js'
import type { OrionRead } from './orion-entity.js'
import { arrayIn, endIn, idIn, isTrue, momentIn, numberIn, objectIn, textIn, textsIn, valueIn } from './orion-values.js'

/**
 * Reads a document of the collection `csubs`, of any version. It is converted into a payload of NGSIv2, which decides by its
 * checks whether the subscription is valid. Only within `checked`.
 */
export function readOrionSubscription(given: Given, tenant: Tenant, now: Milliseconds): OrionRead<SubscriptionItem> {
  const document = objectIn(given, 'the document')
  const losses: PartLoss[] = []
  const conditions = conditionsIn(document)
  const body = atOnce(parseNewSubscription(JSON.stringify(payloadOf(document, conditions.names, losses))))
  if (!body.ok) refuse(body.error.description)
  if ('kafka' in body.value) refuse(kafkaUnsupported)
  const path = textIn(document['servicePath']) ?? ''
  const made = newSubscription(
    tenant,
    path === '' ? everywhere : new LineFields({ servicePath: path }, '').pathRange(),
    body.value,
    now,
  )
  const stats = statsIn(document)
  const isTicking = conditions.interval_ms !== undefined
  return {
    item: {
      kind: 'subscription',
      subscription: {
        ...made,
        id: idIn(document['_id']) as SubscriptionId,
        expires: endIn(document['expiration']),
        ...(isTicking && { interval_ms: conditions.interval_ms, onChange: undefined }),
        terms: made.terms && { ...made.terms, armed: ((stats?.lastNotification ?? 0) + 1) as Milliseconds },
      },
      stats,
      ticked: undefined,
    },
    losses,
  }
}

/** The triggers: names, or in old versions objects, one of which may be an interval. */
function conditionsIn(document: GivenObject): { readonly names: readonly string[]; readonly interval_ms?: number } {
  const names = new Set<string>()
  let interval_ms: number | undefined
  for (const condition of arrayIn(document['conditions'], 'conditions')) {
    const name = textIn(condition)
    if (name !== undefined) {
      names.add(name)
      continue
    }
    const { type, value } = objectIn(condition, 'a condition')
    if (type === 'ONCHANGE') for (const each of textsIn(value, 'a condition')) names.add(each)
    else if (type === 'ONTIMEINTERVAL') interval_ms = (numberIn(value) ?? refuse('an interval is no number')) * 1000
    else refuse(`a condition has the type ${String(type)}`)
  }
  return { names: [...names], ...(interval_ms !== undefined && { interval_ms }) }
}

function payloadOf(document: GivenObject, onChange: readonly string[], losses: PartLoss[]): object {
  const throttling = numberIn(document['throttling']) ?? 0
  const status = textIn(document['status'])
  const description = textIn(document['description'])
  return {
    ...(description !== undefined && { description }),
    subject: {
      entities: arrayIn(document['entities'], 'entities').map(entityIn),
      condition: conditionOf(document, onChange),
    },
    notification: notificationOf(document, losses),
    ...(throttling > 0 && { throttling: Math.ceil(throttling) }),
    ...((status === 'inactive' || status === 'oneshot') && { status }),
  }
}

function entityIn(given: Given): object {
  const entity = objectIn(given, 'an entity of the subscription')
  const [id, type] = [textIn(entity['id']) ?? '', textIn(entity['type']) ?? '']
  const meant = isTrue(entity['isPattern']) ? { idPattern: id } : { id }
  if (type === '') return meant
  return isTrue(entity['isTypePattern']) ? { ...meant, typePattern: type } : { ...meant, type }
}

function conditionOf(document: GivenObject, attrs: readonly string[]): object {
  const alterationTypes = textsIn(document['altTypes'], 'altTypes')
  const onMetadata = document['notifyOnMetadataChange']
  const expression = expressionIn(document['expression'])
  return {
    attrs,
    ...(expression !== undefined && { expression }),
    ...(alterationTypes.length > 0 && { alterationTypes }),
    ...(typeof onMetadata === 'boolean' && { notifyOnMetadataChange: onMetadata }),
  }
}

/** Orion stores absent members as empty texts. */
function expressionIn(given: Given): object | undefined {
  if (!isGivenObject(given)) return undefined
  const names = ['q', 'mq', 'georel', 'geometry', 'coords'] as const
  const members = names.flatMap((name) => {
    const text = textIn(given[name]) ?? ''
    return text === '' ? [] : [[name, text] as const]
  })
  return members.length === 0 ? undefined : Object.fromEntries(members)
}

/** The names of formats over time. */
const formats: ReadonlyMap<string, string> = new Map([
  ['JSON', 'legacy'],
  ['XML', 'legacy'],
  ['', 'legacy'],
  ['<null>', 'legacy'],
  ['NGSIv2-NORMALIZED', 'normalized'],
  ['NGSIv2-KEYVALUES', 'keyValues'],
  ['NGSIv2-VALUES', 'values'],
  ['NGSIv2-UNIQUE-VALUES', 'values'],
  ['uniqueValues', 'values'],
])

function notificationOf(document: GivenObject, losses: PartLoss[]): object {
  const stored = textIn(document['format']) ?? ''
  if (stored.toLowerCase().includes('unique')) losses.push(changed('its format uniqueValues becomes values'))
  if (stored === 'XML') losses.push(changed('its format XML becomes JSON'))
  const attrs = textsIn(document['attrs'], 'attrs')
  const metadata = textsIn(document['metadata'], 'metadata')
  const maxFailsLimit = numberIn(document['maxFailsLimit']) ?? 0
  const flag = (name: string): boolean => isTrue(document[name])
  return {
    ...(flag('blacklist') && attrs.length > 0 ? { exceptAttrs: attrs } : { attrs }),
    ...(metadata.length > 0 && { metadata }),
    attrsFormat: formats.get(stored) ?? stored,
    ...(flag('onlyChanged') && { onlyChangedAttrs: true }),
    ...(flag('covered') && { covered: true }),
    ...(maxFailsLimit > 0 && { maxFailsLimit }),
    ...targetOf(document),
  }
}

function targetOf(document: GivenObject): object {
  const url = textIn(document['reference']) ?? refuse('reference is missing')
  if (url.toLowerCase().startsWith('kafka:'))
    refuse('it notifies over Kafka, which Rigel does not have: let it notify over HTTP or MQTT')
  const isCustom = isTrue(document['custom'])
  const timeout = numberIn(document['timeout']) ?? 0
  const template = isCustom ? templateOf(document) : {}
  const topic = textIn(document['topic'])
  if (topic !== undefined) {
    const [user, passwd] = [textIn(document['user']) ?? '', textIn(document['passwd']) ?? '']
    const qos = numberIn(document['qos'])
    const mqtt = {
      url,
      topic,
      ...(qos !== undefined && { qos }),
      ...(isTrue(document['retain']) && { retain: true }),
      ...(user !== '' && { user, passwd }),
      ...template,
    }
    return isCustom ? { mqttCustom: mqtt } : { mqtt }
  }
  const http = { url, ...(timeout > 0 && { timeout }) }
  return isCustom ? { httpCustom: { ...http, ...requestOf(document), ...template } } : { http }
}

/** The members that only HTTP requests have; empty ones count as absent. */
function requestOf(document: GivenObject): object {
  const method = textIn(document['method']) ?? ''
  const [qs, headers] = [pairsIn(document['qs']), pairsIn(document['headers'])]
  return { ...(method !== '' && { method }), ...(qs && { qs }), ...(headers && { headers }) }
}

function pairsIn(given: Given): Readonly<Record<string, Value>> | undefined {
  if (!isGivenObject(given) || Object.keys(given).length === 0) return undefined
  return Object.fromEntries(Object.entries(given).map(([name, value]) => [plainKey(name), valueIn(value, name)]))
}

function templateOf(document: GivenObject): object {
  const { payload, json, ngsi } = document
  if (payload !== undefined && payload !== '') return { payload: payload === null ? null : textIn(payload) }
  if (json !== undefined) return { json: templateValue(json) }
  return ngsi === undefined ? {} : { ngsi: templateValue(ngsi) }
}

/** A template as given: in the database, dollars and dots in keys are replaced by their wide forms. */
function templateValue(given: Given, depth = 0): Value {
  if (depth > maxNesting) refuse(`a template is nested deeper than ${maxNesting} levels`)
  if (Array.isArray(given)) return given.map((item) => templateValue(item, depth + 1))
  if (!isGivenObject(given) || '_bsontype' in given || given instanceof Date) return valueIn(given, 'a template')
  const members = Object.entries(given)
  return Object.fromEntries(members.map(([name, value]) => [plainKey(name), templateValue(value, depth + 1)]))
}

function plainKey(name: string): string {
  return name.replaceAll('\uff04', '$').replaceAll('\uff0e', '.')
}

/** The delivery stats, as far as Orion has recorded them. */
function statsIn(document: GivenObject): DeliveryStats | undefined {
  const moments = {
    lastNotification: positive(momentIn(document['lastNotification'])),
    lastSuccess: positive(momentIn(document['lastSuccess'])),
    lastFailure: positive(momentIn(document['lastFailure'])),
  }
  const { lastNotification, lastSuccess, lastFailure } = moments
  const sent = numberIn(document['count']) ?? 0
  if (sent === 0 && lastNotification === undefined && lastFailure === undefined) return undefined
  const lastSuccessCode = numberIn(document['lastSuccessCode'])
  const lastFailureReason = textIn(document['lastFailureReason'])
  const attempted = Math.max(lastSuccess ?? 0, lastFailure ?? 0) as Milliseconds
  return {
    sent,
    discarded: 0,
    tried: [],
    fails: numberIn(document['failsCounter']) ?? 0,
    ...(lastNotification !== undefined && { lastNotification }),
    ...(lastSuccess !== undefined && { lastSuccess }),
    ...(lastSuccessCode !== undefined && lastSuccessCode > 0 && { lastSuccessCode }),
    ...(lastFailure !== undefined && { lastFailure }),
    ...(lastFailureReason !== undefined && { lastFailureReason }),
    ...(attempted > 0 && { attempted }),
  }
}

/** Orion has -1 or 0 for what has not happened. */
function positive(moment: Milliseconds | undefined): Milliseconds | undefined {
  return moment !== undefined && moment > 0 && moment < never ? moment : undefined
}
