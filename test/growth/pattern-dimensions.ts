import type { Dimension } from './dimension.js'
import { get, many, post, type Sent } from './given.js'

/** About 600 steps each: 32 are within the budget of a request, and what is beyond is refused before it is compiled. */
const costly = (at: number): string => `${'\\\\pL'.repeat(2)}${at}`
const cheap = (at: number): string => `a${at}[0-9]*`
const selectors = (size: number, pattern = costly): string =>
  many(size, (at) => `{"id":"${pattern(at)}","isPattern":"true"}`)
const selectors2 = (size: number, pattern = costly): string => many(size, (at) => `{"idPattern":"${pattern(at)}"}`)
const to = '"notification":{"http":{"url":"http://127.0.0.1:9/n"}}'
const reference = '"reference":"http://127.0.0.1:9/n","duration":"P1Y"'
const tooLong = '(?:takes too long to compile|[Ii]nvalid regex|error compiling filter regex)'
const refusal = new RegExp(`^(200|400) .*${tooLong}`, 's')

/** Where patterns stand in a request, and what is replied to few of them. */
const places: readonly (readonly [string, (size: number, pattern?: (at: number) => string) => Sent, string])[] = [
  [
    'queryContext',
    (size, pattern) => post('/v1/queryContext', `{"entities":[${selectors(size, pattern)}]}`),
    '"code":"404"',
  ],
  ['op/query', (size, pattern) => post('/v2/op/query', `{"entities":[${selectors2(size, pattern)}]}`), '^200 \\[\\]'],
  [
    'q of op/query',
    (size, pattern = costly) => {
      const q = many(size, (at) => `a~=${pattern(at)}`, ';')
      return post('/v2/op/query', `{"entities":[{"idPattern":".*"}],"expression":{"q":"${q}"}}`)
    },
    '^200 \\[\\]',
  ],
  [
    'a StringQuery of queryContext',
    (size, pattern = costly) => {
      const scope = `{"type":"FIWARE::StringQuery","value":"${many(size, (at) => `a~=${pattern(at)}`, ';')}"}`
      return post(
        '/v1/queryContext',
        `{"entities":[{"id":".*","isPattern":"true"}],"restriction":{"scopes":[${scope}]}}`,
      )
    },
    '"code":"404"',
  ],
  [
    'discoverContextAvailability',
    (size, pattern) => post('/v1/registry/discoverContextAvailability', `{"entities":[${selectors(size, pattern)}]}`),
    '"code":"404"',
  ],
  [
    'subscribeContext',
    (size, pattern) => {
      const on = '"notifyConditions":[{"type":"ONCHANGE"}]'
      return post('/v1/subscribeContext', `{"entities":[${selectors(size, pattern)}],${reference},${on}}`)
    },
    'subscribeResponse|no room',
  ],
  [
    'subscribeContextAvailability',
    (size, pattern) =>
      post('/v1/registry/subscribeContextAvailability', `{"entities":[${selectors(size, pattern)}],${reference}}`),
    'subscriptionId|no room',
  ],
  [
    'a subscription of NGSIv2',
    (size, pattern) => post('/v2/subscriptions', `{"subject":{"entities":[${selectors2(size, pattern)}]},${to}}`),
    '^201|no room',
  ],
]

/** Patterns in one parameter of a target, which holds half of what a head does. */
const inTarget = (parameter: string, text: (size: number) => string, most: number, name: string): Dimension => ({
  name: `${name} in ${parameter}`,
  most,
  sent: (size) => get(`/v2/entities?${parameter}=${encodeURIComponent(text(size))}`),
  expects: /^(200 \[\]|400 .*(Invalid regex|takes too long to compile|invalid))/s,
})

/** Regular expressions: how many, how long and how costly each is, wherever clients write them. */
export const patterns: readonly Dimension[] = [
  ...places.flatMap(([name, sent, few]): readonly Dimension[] => [
    { name: `patterns with classes by property in ${name}`, most: 512, sent: (size) => sent(size), expects: refusal },
    {
      name: `cheap patterns in ${name}`,
      most: 500,
      sent: (size) => sent(size, cheap),
      expects: new RegExp(`${few}|${tooLong}`),
    },
    {
      name: `patterns with repetitions in ${name}`,
      most: 500,
      sent: (size) => sent(size, (at) => `x{100}[a-z]{100}${at}`),
      expects: refusal,
    },
    {
      name: `length of 25 patterns in ${name}`,
      most: 1024,
      sent: (size) => sent(25, (at) => `${'ab?'.repeat(Math.ceil(size / 3))}${at}`),
      expects: new RegExp(`${few}|${tooLong}`),
    },
    {
      name: `long patterns in ${name}`,
      most: 500,
      sent: (size) => sent(size, (at) => `${'ab?'.repeat(340)}${at}`),
      expects: new RegExp(`${refusal.source}|q too long`, 's'),
    },
  ]),
  ...['idPattern', 'typePattern'].flatMap((parameter) => [
    inTarget(parameter, (size) => `(?i)[${'b-\uffef'.repeat(size)}]`, 512, 'ranges without case'),
    inTarget(
      parameter,
      (size) => `(?:${'ab'.repeat(size / 2)}){1000}`,
      1024,
      'length of a group that is repeated a thousand times',
    ),
    inTarget(parameter, (size) => `${'('.repeat(size)}a${')'.repeat(size)}`, 1000, 'depth of groups'),
    inTarget(parameter, (size) => Array.from({ length: size }, (_, at) => `a${at}`).join('|'), 400, 'choices'),
    inTarget(parameter, (size) => `a${'*'.repeat(size)}`, 2000, 'stars'),
    inTarget(parameter, (size) => `[${'a-z'.repeat(size)}]`, 680, 'ranges'),
  ]),
]
