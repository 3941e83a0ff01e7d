import type { ShownSubscription } from '../broker/broker.js'
import type { InspectedQueue } from '../delivery/message.js'
import { textWithoutSecrets, urlWithoutSecrets, withoutSecrets } from '../log/secrets.js'
import { stateShown } from '../management/subscription-states.js'
import { subjectShown } from '../ngsi2/render/shown-resources.js'
import { termsOf } from '../subscription/patch.js'
import type { HttpTarget, MqttTarget, Template } from '../subscription/terms.js'
import { dateText, type Milliseconds } from '../time.js'
import type { SubscriptionDetails, SubscriptionRow, WholeSubscription } from './shapes.js'

/** How the deliveries of a subscription go at a moment. */
export function shownState({ subscription, delivery, fired }: ShownSubscription, at: Milliseconds): SubscriptionRow {
  const status = fired ? 'inactive' : termsOf(subscription).status
  return stateShown({ ...subscription, status, delivery }, at)
}

/** The same with what the subscription asks for. */
export function shownDetails(shown: ShownSubscription, at: Milliseconds): SubscriptionDetails {
  const { subscription } = shown
  const { attributes, interval_ms } = subscription
  const { description, notification, maxFails } = termsOf(subscription)
  const { target, format, excepts, metadata, onlyChanged, covered } = notification
  return {
    ...shownState(shown, at),
    description: description === '' ? undefined : description,
    subject: subjectShown(subscription),
    notification: {
      ...(excepts ? { exceptAttrs: attributes } : { attrs: attributes }),
      attrsFormat: format,
      metadata,
      onlyChangedAttrs: onlyChanged,
      covered,
      maxFailsLimit: maxFails,
      kind: target.kind,
      isCustom: target.custom !== undefined,
    },
    interval: interval_ms === undefined ? undefined : interval_ms / 1000,
  }
}

/** A subscription with all that it says. */
export function shownWhole(
  shown: ShownSubscription,
  { state, underWay, failures }: InspectedQueue,
  at: Milliseconds,
): WholeSubscription {
  const { target } = termsOf(shown.subscription).notification
  return {
    ...shownDetails(shown, at),
    target: target.kind === 'http' ? httpTargetShown(target) : mqttTargetShown(target),
    queue: { state, underWay },
    lastFailures: failures.map((failure) => ({ at: dateText(failure.at), reason: failure.reason })),
  }
}

function httpTargetShown({ timeout_ms, custom }: HttpTarget): object {
  const { method, qs, headers } = custom ?? {}
  return {
    kind: 'http',
    timeout: timeout_ms === 0 ? undefined : timeout_ms,
    method,
    qs: qs && Object.fromEntries(Object.entries(qs).map(([name, value]) => [name, parameterShown(name, value)])),
    headers: headers && withoutSecrets(headers),
    ...templateShown(custom),
  }
}

function parameterShown(name: string, value: string): string {
  return urlWithoutSecrets(`?${name}=${value}`).slice(name.length + 2)
}

function mqttTargetShown({ topic, qos, retain, user, custom }: MqttTarget): object {
  return { kind: 'mqtt', topic, qos, retain, user, ...templateShown(custom) }
}

function templateShown({ payload, json, ngsi }: Template = {}): object {
  return { payload: typeof payload === 'string' ? textWithoutSecrets(payload) : payload, json, ngsi }
}
