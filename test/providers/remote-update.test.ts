import { test } from 'tap'
import { okStatus, statusOf } from '../../src/api/ngsi1/render/status.js'
import { outcomesOf } from '../../src/broker/providers/remote-update.js'
import type { Share } from '../../src/broker/providers/update-plan.js'
import type { EntityId, EntityType } from '../../src/model/context/entity.js'
import type { GivenAttribute } from '../../src/model/context/update.js'
import type { RegistrationId } from '../../src/model/registration/registration.js'
import { ok } from '../../src/result.js'
import { atOnce } from '../../src/slices.js'
import { staysWithin } from '../pace.js'

function given(name: string): GivenAttribute {
  return { name, instance: '', type: '', metadata: [] }
}

function share(...names: readonly string[]): Share {
  return { id: 'E' as EntityId, type: 'T' as EntityType, attributes: names.map(given) }
}

/** What became of each share when its provider answered with these elements. */
function outcomesIn(
  shares: readonly Share[],
  elements: readonly (readonly [status: typeof okStatus, ...names: string[]])[],
) {
  const forward = { provider: 'p', registration: 'r' as RegistrationId, form: 'ngsi1', shares } as const
  const received = elements.map(([status, ...names]) => ({
    ...{ id: 'E' as EntityId, type: 'T' as EntityType, status },
    attributes: names.map(given),
  }))
  const outcomes = atOnce(outcomesOf([{ forward, response: ok({ elements: received, status: undefined }) }]))
  return shares.map((one) =>
    (outcomes.get(one) ?? []).map(({ result, attributes }) => [
      result.kind === 'answered' ? result.status.code : result.kind,
      ...attributes.map(({ name }) => name),
    ]),
  )
}

test('equal shares are spoken of in their order, what is not listed by the first of them is left over', async (t) => {
  const [a, b, c] = [share('x', 'y'), share('x'), share('y', 'z')]
  const refusal = statusOf(472)
  t.same(outcomesIn([a, b, c], [[okStatus, 'y'], [refusal, 'x', 'x'], [okStatus, 'x'], [okStatus]]), [
    [
      ['200', 'y'],
      ['472', 'x'],
    ],
    [['472', 'x']],
    [['200', 'y', 'z']],
  ])
})

test('ten thousand equal elements, and as many attributes of one, get their outcomes in the time that it takes to look at them', async (t) => {
  const many = Array.from({ length: 20_000 }, (_, at) => at)
  const isLinear = await staysWithin(5000, () => {
    const equal = outcomesIn(
      many.map(() => share('x')),
      many.map(() => [okStatus, 'x'] as const),
    )
    t.ok(equal.every(([first, ...others]) => first?.[0] === '200' && others.length === 0))
    const names = many.map((at) => `n${at}`)
    const [only] = outcomesIn([share(...names)], [[okStatus, ...names.reverse()]])
    t.equal(only?.length, many.length)
  })
  t.ok(isLinear, 'looking through all of them for each takes far longer')
})
