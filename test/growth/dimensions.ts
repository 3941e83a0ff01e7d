import { adding, elementOfOne, many, numbered, post, type Sent } from './given.js'

/** One number, or length, that a client chooses, of one operation, up to where a limit ends it. */
export interface Dimension {
  readonly name: string
  /** The largest that is let in, or that a body holds. */
  readonly most: number
  /** What has to be there for a request of this size; it is not measured. */
  readonly before?: (size: number) => readonly Sent[]
  /** The request of this size. */
  readonly sent: (size: number) => Sent
  /** What a reply has to have: a request that does not get to where it is costly measures nothing. */
  readonly expects: RegExp
  /** Whether it is among the few that every run of the system tests grows. */
  readonly isOfShortForm?: boolean
}

const attribute = (name: string, value = '"1"', metadatas = ''): string =>
  `{"name":"${name}","value":${value}${metadatas === '' ? '' : `,"metadatas":[${metadatas}]`}}`
const instance = (at: number): string => attribute('a', '"1"', `{"name":"ID","value":"${at}"}`)
const ofOne = (attributes: string): string => `{"id":"One","type":"T","attributes":[${attributes}]}`

const updates: readonly Dimension[] = [
  {
    name: 'elements of one entity in op/update, each with another attribute',
    most: 5000,
    sent: (size) =>
      post('/v2/op/update', `{"actionType":"append","entities":[${many(size, (at) => elementOfOne(`a${at}`, '1'))}]}`),
    expects: /^$/,
  },
  {
    name: 'elements of one entity in updateContext, each with another attribute',
    most: 5000,
    sent: (size) => adding(many(size, (at) => ofOne(attribute(`a${at}`)))),
    expects: /"code":"200"/,
  },
  {
    name: 'elements of one entity in updateContext, each with other metadata',
    most: 5000,
    sent: (size) => adding(many(size, (at) => ofOne(attribute('a', '"1"', `{"name":"m${at}","value":"1"}`)))),
    expects: /"code":"/,
  },
  {
    name: 'elements of different entities',
    most: 5000,
    sent: (size) => adding(many(size, (at) => `{"id":"E${at}","attributes":[${attribute('a')}]}`)),
    expects: /"code":"200"/,
    isOfShortForm: true,
  },
  {
    name: 'instances of one attribute that are there',
    most: 5000,
    before: (size) => [adding(ofOne(many(size, instance)))],
    sent: (size) => adding(ofOne(many(size, instance))),
    expects: /"code":"200"/,
  },
  {
    name: 'updates of an entity with a large object',
    most: 256,
    before: () => [adding(ofOne(attribute('a', `{${many(50_000, (at) => `"k${at}":1`)}}`)))],
    sent: (size) =>
      post('/v2/op/update', `{"actionType":"append","entities":[${many(size, (at) => elementOfOne('b', `${at}`))}]}`),
    expects: /^$/,
  },
  ...(['$push', '$addToSet'] as const).map(
    (operator): Dimension => ({
      name: `${operator} of one array in one batch`,
      most: operator === '$push' ? 15_000 : 7500,
      before: () => [adding(ofOne(attribute('a', '[]')))],
      sent: (size) => {
        const elements = many(size, (at) => elementOfOne('a', `{"${operator}":${at}}`))
        return post('/v2/op/update', `{"actionType":"update","entities":[${elements}]}`)
      },
      expects: /^$/,
    }),
  ),
]

/** About 600 steps each: 32 are within the budget of a request, and what is beyond is refused before it is compiled. */
const costly = (at: number): string => `${'\\\\pL'.repeat(2)}${at}`
const selectors = (size: number, pattern = costly): string =>
  many(size, (at) => `{"id":"${pattern(at)}","isPattern":"true"}`)
const selectors2 = (size: number): string => many(size, (at) => `{"idPattern":"${costly(at)}"}`)

const patterns: readonly Dimension[] = [
  {
    name: 'patterns with classes by property in queryContext',
    most: 512,
    sent: (size) => post('/v1/queryContext', `{"entities":[${selectors(size)}]}`),
    expects: /"code":"404"|takes too long to compile/,
    isOfShortForm: true,
  },
  {
    name: 'patterns with classes by property in op/query',
    most: 512,
    sent: (size) => post('/v2/op/query', `{"entities":[${selectors2(size)}]}`),
    expects: /^\[\]$|takes too long to compile/,
  },
  {
    name: 'ranges without case in one pattern of a list of entities',
    most: 512,
    sent: (size) => ({
      verb: 'GET',
      path: `/v2/entities?idPattern=${encodeURIComponent(`(?i)[${'b-\uffef'.repeat(size)}]`)}`,
    }),
    expects: /^\[\]$|takes too long to compile/,
    isOfShortForm: true,
  },
  {
    name: 'length of a group that is repeated a thousand times',
    most: 1024,
    sent: (size) => ({
      verb: 'GET',
      path: `/v2/entities?idPattern=${encodeURIComponent(`(?:${'ab'.repeat(size / 2)}){1000}`)}`,
    }),
    expects: /Invalid regex|takes too long to compile/,
    isOfShortForm: true,
  },
  {
    name: 'patterns with classes by property in a subscription',
    most: 512,
    sent: (size) => {
      const subject = `{"entities":[${selectors2(size)}]}`
      return post('/v2/subscriptions', `{"subject":${subject},"notification":{"http":{"url":"http://127.0.0.1:9/n"}}}`)
    },
    expects: /^$|takes too long to compile|no room/,
  },
  {
    name: 'statements with patterns in q',
    most: 512,
    sent: (size) => {
      const q = Array.from({ length: size }, (_, at) => `a~=${costly(at)}`).join(';')
      return post('/v2/op/query', `{"entities":[{"idPattern":".*"}],"expression":{"q":"${q}"}}`)
    },
    expects: /^\[\]$|takes too long to compile/,
  },
]

const longId = (at: number): string => `${'lamp'.repeat(60)}${at}`
const registered = (size: number): string =>
  `{"entities":[${many(size, (at) => `{"id":"${longId(at)}","type":"T"}`)}],"attributes":[{"name":"a"}],"providingApplication":"http://127.0.0.1:9/v1"}`
const registering = (size: number): Sent =>
  post('/v1/registry/registerContext', `{"contextRegistrations":[${registered(size)}],"duration":"P1Y"}`)
/** Is found in none of the ids, of which the engine looks at each character. */
const tried = (at: number): string => `[a-p]+[x-z]${at}`
const discovering = (patterns: number): Sent =>
  post(
    '/v1/registry/discoverContextAvailability?limit=1000',
    `{"entities":[${selectors(patterns, tried)},{"id":"lamp","isPattern":"true"}]}`,
  )

const registry: readonly Dimension[] = [
  {
    name: 'patterns in a discovery of thousands of long ids',
    most: 512,
    before: () => [registering(2500)],
    sent: discovering,
    expects: /"providingApplication"/,
    isOfShortForm: true,
  },
  {
    name: 'long ids in a registration that a subscription with patterns hears of',
    most: 3000,
    before: () => [
      post(
        '/v1/registry/subscribeContextAvailability',
        `{"entities":[${selectors(400, tried)}],"duration":"P1Y","reference":"http://127.0.0.1:9/n"}`,
      ),
    ],
    sent: registering,
    expects: /"duration":"P1Y"/,
    isOfShortForm: true,
  },
  {
    name: 'subscriptions on a page',
    most: 1000,
    before: (size) =>
      numbered(size).map((at) => {
        const subject = `{"entities":[{"id":"never${at}"}],"condition":{"attrs":[${many(200, (name) => `"a${name}"`)}]}}`
        return post(
          '/v2/subscriptions',
          `{"subject":${subject},"notification":{"http":{"url":"http://127.0.0.1:9/n"}}}`,
        )
      }),
    sent: (size) => ({ verb: 'GET', path: `/v2/subscriptions?limit=${size}` }),
    expects: /^\[\{/,
  },
]

const hearing = (custom: string): Sent =>
  post(
    '/v2/subscriptions',
    `{"subject":{"entities":[{"id":"One"}]},"notification":{"httpCustom":{"url":"http://127.0.0.1:9/n",${custom}}}}`,
  )

const subscriptions: readonly Dimension[] = [
  {
    name: 'subscriptions with templates that hear of an entity with 5000 attributes',
    most: 200,
    before: (size) => [
      ...numbered(size).map((at) => hearing(`"payload":"${at} \${a1} \${a2}"`)),
      adding(ofOne(many(5000, (at) => attribute(`a${at}`)))),
    ],
    sent: () => adding(ofOne(attribute('a1', '"2"'))),
    expects: /"code":"200"/,
  },
  ...(['a|len', 'a|substring(1,9)', 'a|toString', "a|replacereg('x+y','z')"] as const).map(
    (text): Dimension => ({
      name: `length of the text that 16 expressions \${${text}} read`,
      most: 900_000,
      before: () => numbered(16).map((at) => hearing(`"payload":"${at} \${${text}}"`)),
      sent: (size) => adding(ofOne(attribute('a', `"${'x'.repeat(size)}"`))),
      expects: /"code":"200"/,
    }),
  ),
  ...(['+1', '*(1', ',1', '?1:1', '.b', '-1'] as const).map(
    (piece): Dimension => ({
      name: `length of 20 expressions of ${piece}`,
      most: 32_768,
      before: (size) =>
        numbered(20).map((at) => hearing(`"payload":"${at} \${a${piece.repeat(size / piece.length)}}"`)),
      sent: () => adding(ofOne(attribute('a'))),
      expects: /"code":"200"/,
    }),
  ),
]

/** What is grown, of each kind of operation. A new way to make a request larger is one more row. */
export const dimensions: readonly Dimension[] = [...updates, ...patterns, ...registry, ...subscriptions]
