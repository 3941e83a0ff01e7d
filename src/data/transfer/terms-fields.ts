import { readExpression } from '../../api/ngsi2/parse/selectors.js'
import { kafkaUnsupported } from '../../api/ngsi2/parse/subscription-body.js'
import { readTarget } from '../../api/ngsi2/parse/target-body.js'
import { type Given, type GivenObject, isGivenObject, refuse } from '../../api/ngsi2/parse/tree.js'
import { parseNotificationUrl, streamReference } from '../../model/subscription/targets.js'
import {
  alterations,
  attributeFormats,
  type FiringCondition,
  hiddenPassword,
  type MqttTarget,
  type NotificationTarget,
  type NotificationTerms,
  type SubscriptionTerms,
  statuses,
} from '../../model/subscription/terms.js'
import type { Milliseconds } from '../../time.js'
import { LineFields, lineDate } from './line-fields.js'

/** The NGSIv2 part of a subscription in a line. Its expression is parsed again when the line is read. */
export function termsMembers({
  description,
  status,
  armed,
  condition,
  notification,
  maxFails,
}: SubscriptionTerms): object {
  return {
    description: description === '' ? undefined : description,
    status,
    armed: status === 'oneshot' || armed > 0 ? lineDate(armed) : undefined,
    condition: condition && { ...condition, scopes: undefined },
    notification: { ...notification, target: targetMembers(notification.target) },
    maxFails,
  }
}

/** A target with its template as JSON, not as text, and without a password that is not known. */
function targetMembers(given: NotificationTarget): object {
  const target = hidesPassword(given) ? { ...given, passwd: undefined } : given
  const { custom } = target
  if (custom === undefined) return target
  const { json, ngsi } = custom
  const template = { ...(json && { json: JSON.parse(json) }), ...(ngsi && { ngsi: JSON.parse(ngsi) }) }
  return { ...target, custom: { ...custom, ...template } }
}

const termsNames = new Set(['description', 'status', 'armed', 'condition', 'notification', 'maxFails'])

/** Reads the NGSIv2 part of a subscription that is notified at this URL. Only within `checked`. */
export function readTerms(given: Given, reference: string): SubscriptionTerms {
  const fields = new LineFields(given, 'terms').only(termsNames)
  const condition = fields.given('condition')
  return {
    description: fields.text('description', ''),
    status: fields.one('status', statuses, 'active'),
    armed: fields.date('armed', 0 as Milliseconds),
    condition: condition === undefined ? undefined : readCondition(condition),
    notification: readNotification(fields.given('notification'), reference),
    maxFails: fields.optionalNumber('maxFails', 1),
  }
}

const conditionNames = new Set(['alterations', 'onMetadata', 'expression', 'jexl'])

function readCondition(given: Given): FiringCondition {
  const fields = new LineFields(given, 'terms.condition').only(conditionNames)
  const expression = fields.given('expression')
  const isEmpty = isGivenObject(expression) && Object.keys(expression).length === 0
  return {
    alterations: fields.list('alterations', (name, where) => {
      return alterations.find((each) => each === name) ?? refuse(`${where} is none of ${alterations.join(', ')}`)
    }),
    onMetadata: fields.flag('onMetadata'),
    ...readExpression(isEmpty ? undefined : expression),
    jexl: fields.optionalText('jexl'),
  }
}

const notificationNames = new Set(['target', 'format', 'excepts', 'metadata', 'onlyChanged', 'covered'])

function readNotification(given: Given, reference: string): NotificationTerms {
  const fields = new LineFields(given, 'terms.notification').only(notificationNames)
  return {
    target: readLineTarget(fields.given('target'), reference),
    format: fields.one('format', attributeFormats),
    excepts: fields.flag('excepts'),
    metadata: fields.texts('metadata'),
    onlyChanged: fields.flag('onlyChanged'),
    covered: fields.flag('covered'),
  }
}

/** Whether the password of a target is not known, since its broker does not show it. */
export function hidesPassword(target: NotificationTarget): target is MqttTarget {
  return target.kind === 'mqtt' && target.passwd === hiddenPassword
}

/** Checks the target as NGSIv2 does, except for a plain URL, which NGSIv1 may have given. */
function readLineTarget(given: Given, url: string): NotificationTarget {
  if (!isGivenObject(given)) refuse('terms.notification.target is missing')
  const { kind, timeout_ms: timeout, custom, ...members } = given
  if (kind === 'mqtt') {
    const unknown = members['user'] !== undefined && { passwd: hiddenPassword }
    const shown = { url, ...unknown, ...members, ...customOf(custom) }
    return checkedTarget(custom === undefined ? 'mqtt' : 'mqttCustom', shown)
  }
  if (kind !== 'http') refuse('terms.notification.target.kind is neither http nor mqtt')
  if (custom !== undefined) return checkedTarget('httpCustom', { url, timeout, ...customOf(custom) })
  const scheme = parseNotificationUrl(url)?.scheme
  if (scheme !== 'http' && scheme !== 'https' && url !== streamReference) {
    refuse(`url is no URL of http or https: ${url}`)
  }
  const { target } = checkedParts('http', { url: 'http://localhost/', timeout })
  return target
}

function checkedTarget(kind: string, given: GivenObject): NotificationTarget {
  return checkedParts(kind, given).target
}

function checkedParts(kind: string, given: GivenObject): { readonly target: NotificationTarget } {
  const read = readTarget({ [kind]: given })
  return read === 'kafka' ? refuse(kafkaUnsupported, 'NotImplemented') : read
}

function customOf(given: Given): GivenObject {
  if (given === undefined) return {}
  return isGivenObject(given) ? given : refuse('terms.notification.target.custom is not an object')
}
