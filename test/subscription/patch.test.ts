import { test } from 'tap'
import { type NotificationPatch, patched, termsOf } from '../../src/model/subscription/patch.js'
import type { MqttTarget } from '../../src/model/subscription/terms.js'
import type { Milliseconds } from '../../src/time.js'
import { nth } from './given.js'

const url = 'mqtt://bus.example:1883'
const stored: MqttTarget = {
  ...{ kind: 'mqtt', topic: 'plant/vats', qos: 1, retain: false },
  ...{ user: 'plant', passwd: 's3cret', custom: undefined },
}

/** The target of a subscription to MQTT after a PATCH with this one. */
function targetAfter(target: NotificationPatch['target'], reference = url) {
  const { subscription } = nth(1)
  const terms = termsOf(subscription)
  const before = {
    ...subscription,
    reference: url,
    terms: { ...terms, notification: { ...terms.notification, target: stored } },
  }
  const { tenant, id } = before
  const notification = { ...terms.notification, target, reference, attributes: [], maxFails: undefined }
  const nothing = { path: undefined, description: undefined, subject: undefined, expires: undefined }
  const patch = { tenant, id, ...nothing, status: undefined, throttling_ms: undefined, notification }
  const result = patched(before, patch, 0 as Milliseconds, 0)
  return result.ok ? termsOf(result.value).notification.target : result.error
}

test('a hidden password that is sent back is the stored one, for its user and receiver', async (t) => {
  const hidden: MqttTarget = { ...stored, passwd: '*****', topic: 'plant/tubs' }
  t.strictSame(targetAfter(hidden), { ...hidden, passwd: 's3cret' })
  t.strictSame(targetAfter({ ...hidden, user: 'other' }), { ...hidden, user: 'other' })
  t.strictSame(targetAfter(hidden, 'mqtt://elsewhere.example:1883'), hidden, 'it is not told to another receiver')
  t.match(targetAfter({ ...stored, passwd: 'new' }), { passwd: 'new' })
  t.match(targetAfter({ ...stored, user: undefined, passwd: undefined }), { user: undefined, passwd: undefined })
})
