import { test } from 'tap'
import { sharedSubscriptions } from '../../src/broker/front-end/coordinator-requests.js'
import { neverDelivered } from '../../src/delivery/queue/courier-protocol.js'
import { everywhere } from '../../src/model/context/scope-headers.js'
import { streamReference } from '../../src/model/subscription/targets.js'
import { err, ok } from '../../src/result.js'
import { subscription as stored } from '../given-subscription.js'
import { scripted, send, withSubscriptions } from './given.js'

const subscription = stored({ path: everywhere, reference: streamReference })
const events = `subscriptions/${subscription.id}/events`

test('a node that lags finds the subscription to listen to when it has all that was acknowledged', async (t) => {
  let has = false
  const here = withSubscriptions({
    one: async () => ok(has ? { subscription, delivery: neverDelivered, fired: false } : undefined),
  }).subscriptions
  const subscriptions = sharedSubscriptions(here, {
    change: () => Promise.reject(new Error('nothing is changed')),
    confirmed: async () => {
      has = true
      return ok(undefined)
    },
  })
  const { status } = await send(scripted({ subscriptions }), 'GET', events)
  t.equal(status, 503, 'its notifications are with the courier, which is away here')
})

test('who listens is told when it is not known which subscriptions there are', async (t) => {
  const broker = withSubscriptions({ one: async () => err({ kind: 'coordinatorAway' }) })
  t.equal((await send(broker, 'GET', events)).status, 503)
  t.equal((await send(withSubscriptions({}), 'GET', events)).status, 404)
})
