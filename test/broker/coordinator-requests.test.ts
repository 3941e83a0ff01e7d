import { test } from 'tap'
import { mayBeGiven } from '../../src/broker/front-end/coordinator-requests.js'
import { err, ok } from '../../src/result.js'

test('a refusal of a coordinator is given only while no other node can coordinate', async (t) => {
  const refusals = [err({ kind: 'subscriptionUnknown' }), err('not so'), err(undefined)]
  for (const response of refusals) {
    t.ok(mayBeGiven(response, () => true))
    t.notOk(
      mayBeGiven(response, () => false),
      'another node may have changed what it was refused for',
    )
  }
})

test('what was carried out, or may have been, is given however long it took; what was not is asked again', async (t) => {
  t.ok(mayBeGiven(ok({ id: 'a' }), () => false))
  t.ok(mayBeGiven(ok(undefined), () => false))
  t.ok(mayBeGiven(err({ kind: 'outcomeUnknown' }), () => false))
  t.notOk(mayBeGiven(err({ kind: 'coordinatorAway' }), () => true))
})
