import { test } from 'tap'
import { parseNewSubscription } from '../../src/api/ngsi2/parse/subscription-body.js'
import { atOnce } from '../../src/slices.js'

const url = 'http://receiver.example/'
const entities = [{ id: 'Room1' }]

/** Why a subscription is refused; nothing when it is taken. */
function refusalOf(given: { subject?: object; notification?: object }): string | undefined {
  const body = { subject: { entities }, notification: { http: { url } }, ...given }
  const read = atOnce(parseNewSubscription(JSON.stringify(body)))
  return read.ok ? undefined : read.error.description
}

const names = (count: number) => Array.from({ length: count }, (_, at) => `a${at}`)
const pairs = (count: number) => Object.fromEntries(names(count).map((name) => [name, 'v']))

test('what a subscription has of each thing is limited', async (t) => {
  const lists: readonly (readonly [string, number, (count: number) => Parameters<typeof refusalOf>[0], string])[] = [
    [
      'entities',
      1000,
      (count) => ({ subject: { entities: names(count).map((id) => ({ id })) } }),
      'too many items in /entities/ [max: 1000]',
    ],
    [
      'attrs of a condition',
      1000,
      (count) => ({ subject: { entities, condition: { attrs: names(count) } } }),
      'too many items in /attrs/ [max: 1000]',
    ],
    ...['attrs', 'exceptAttrs', 'metadata'].map(
      (name) =>
        [
          name,
          1000,
          (count: number) => ({ notification: { http: { url }, [name]: names(count) } }),
          `too many items in /${name}/ [max: 1000]`,
        ] as const,
    ),
    [
      'headers',
      200,
      (count) => ({ notification: { httpCustom: { url, headers: pairs(count) } } }),
      'too many elements in notification httpCustom headers [max: 200]',
    ],
    [
      'parameters',
      1000,
      (count) => ({ notification: { httpCustom: { url, qs: pairs(count) } } }),
      'too many elements in notification httpCustom qs [max: 1000]',
    ],
  ]
  for (const [name, most, given, refusal] of lists) {
    t.equal(refusalOf(given(most)), undefined, name)
    t.equal(refusalOf(given(most + 1)), refusal, name)
  }
})

test('types in ngsi of a custom notification are checked as names are: their length and their characters', async (t) => {
  const ngsiRefused = (ngsi: object) => [
    refusalOf({ notification: { httpCustom: { url, ngsi } } }),
    refusalOf({ notification: { mqttCustom: { url: 'mqtt://bus.example', topic: 't', ngsi } } }),
  ]
  const both = (refusal: string | undefined) => [refusal, refusal]
  const withMetadata = (type: unknown) => ({ a: { value: 1, metadata: { evalPriority: { type, value: 1 } } } })
  for (const [what, ngsiOf] of [
    ['attribute name', (name: string) => ({ [name]: { value: 1 } })],
    ['attribute type', (type: string) => ({ a: { type, value: 1 } })],
    ['metadata type', withMetadata],
  ] as const) {
    t.same(ngsiRefused(ngsiOf('')), both(`${what} length: 0, min length supported: 1`), what)
    t.same(ngsiRefused(ngsiOf('x'.repeat(257))), both(`${what} length: 257, max length supported: 256`), what)
    for (const illegal of ['x y', 'x/y', 'x#y', 'é', 'x\n']) {
      t.same(ngsiRefused(ngsiOf(illegal)), both(`Invalid characters in ${what}`), `${what} ${illegal}`)
    }
    for (const legal of ['x'.repeat(256), '<x>;(y)', '${x}']) t.same(ngsiRefused(ngsiOf(legal)), both(undefined), legal)
  }
  t.same(ngsiRefused({ a: { type: 1, value: 1 } }), both('invalid JSON type for attribute type'))
  t.same(ngsiRefused(withMetadata(1)), both('invalid JSON type for attribute metadata type'))
})
