import { test } from 'tap'
import { typesText } from '../../../src/api/ngsi2/lists.js'
import {
  renderRegistrations,
  renderSubscription,
  renderSubscriptions,
} from '../../../src/api/ngsi2/render/shown-resources.js'
import { neverDelivered } from '../../../src/delivery/queue/courier-protocol.js'
import { atOnce, type Steps } from '../../../src/slices.js'
import { at, type } from '../../given.js'
import { subscription } from '../../given-subscription.js'
import { context, registration } from '../../registration/given.js'
import { sourcesOf } from '../../sources.js'
import { nthId } from '../../subscription/given.js'

function pausesOf(steps: Steps<unknown>): number {
  let pauses = 0
  while (steps.next().done !== true) pauses += 1
  return pauses
}

const numbers = Array.from({ length: 100 }, (_, number) => number)

test('a list of subscriptions is rendered with a pause after each', async (t) => {
  const shown = numbers.map((number) => ({
    subscription: subscription({ id: nthId(number) }),
    delivery: neverDelivered,
    fired: false,
  }))
  const expected = shown.map((each) => renderSubscription(each, at(1)))
  t.equal(atOnce(renderSubscriptions(shown, at(1))), `[${expected.join(',')}]`)
  t.equal(pausesOf(renderSubscriptions(shown, at(1))), 100)
  t.equal(atOnce(renderSubscriptions([], at(1))), '[]')
})

test('lists that a client asks for are rendered in slices', async (t) => {
  const calling = /^.*\b(?:renderSubscriptions|renderRegistrations|renderTypes|typesText)\(.*$/gm
  const lines = sourcesOf('src').flatMap(({ code }) => code.match(calling) ?? [])
  const calls = lines.filter((line) => !/\bfunction\b/.test(line))
  t.equal(calls.length, 4)
  for (const call of calls) t.match(call, /await inSlices\(/)
})

test('a list of registrations is rendered with a pause after each', async (t) => {
  const contexts = numbers.map((number) => context(`Lamp${number}:Lamp`, 'light'))
  const resources = contexts.map((each, at) => ({ registration: registration(1, contexts), at, context: each }))
  t.equal(pausesOf(renderRegistrations(resources)), 100)
  t.equal(JSON.parse(atOnce(renderRegistrations(resources))).length, 100)
})

test('types are rendered with a pause after each of their attributes', async (t) => {
  const attributes = numbers.map((number) => `a${number}`)
  const types = numbers.map((number) => ({ type: type(`T${number}`), entities: 1, attributes }))
  t.ok(pausesOf(typesText(types)) >= 100 * 100)
  const shown: unknown = JSON.parse(atOnce(typesText(types.slice(0, 1))))
  const attrs = Object.fromEntries(attributes.map((name) => [name, { types: [] }]))
  t.same(shown, [{ type: 'T0', attrs, count: 1 }])
})
