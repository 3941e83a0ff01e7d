import type { Dimension } from './dimension.js'
import { adding, attribute, batch, elementOfOne, many, numbered, ofOne, post, type Sent, short } from './given.js'

/** The subject of a subscription, with those of some conditions that are not empty. */
const about = (...conditions: readonly string[]): string => {
  const given = conditions.filter((each) => each !== '').join()
  return `"subject":{"entities":[{"id":"One"}]${given === '' ? '' : `,"condition":{${given}}`}}`
}
const hearing = (custom: string, condition = ''): Sent =>
  post(
    '/v2/subscriptions',
    `{${about(condition)},"notification":{"httpCustom":{"url":"http://127.0.0.1:9/n",${custom}}}}`,
  )
const plain = (rest: string, ...conditions: readonly string[]): Sent =>
  post('/v2/subscriptions', `{${about(...conditions)},"notification":{"http":{"url":"http://127.0.0.1:9/n"}${rest}}}`)
const ofEverything = post(
  '/v2/subscriptions',
  '{"subject":{"entities":[{"idPattern":".*"}]},"notification":{"http":{"url":"http://127.0.0.1:9/n"}}}',
)
const done = /^200 .*"code":"200"/s
const large = adding(ofOne(many(5000, (at) => attribute(`a${at}`))))
const change = (): Sent => adding(ofOne(attribute('a1', '"2"')))

/** A subscription that does not hear of the entity when it is made: to notify that of thousands of attributes takes longer than what is measured. */
const ofChangesOnly = '"alterationTypes":["entityChange"]'

/** Subscriptions of each kind that hear of one change, with one more condition. */
const kinds: readonly (readonly [string, (at: number, condition: string) => Sent])[] = [
  ['templates', (at, condition) => hearing(`"payload":"${at} \${a1} \${a2}"`, condition)],
  ['json templates', (at, condition) => hearing(`"json":{"n":${at},"a":"\${a1}"}`, condition)],
  ['ngsi templates', (at, condition) => hearing(`"ngsi":{"n":{"value":"${at} \${a1}"}}`, condition)],
  ['expressions as conditions', (at, condition) => plain('', `"jexlExpression":"a1 != '${at}'"`, condition)],
  ['previous values', (at, condition) => plain(`,"metadata":["previousValue","actionType","m${at}"]`, condition)],
  ['filters', (at, condition) => plain('', `"expression":{"q":"a1!=${at}"}`, condition)],
  [
    'long lists of metadata',
    (at, condition) => plain(`,"metadata":[${many(200, (each) => `"m${at}-${each}"`)}]`, condition),
  ],
  ['lists of attributes', (at, condition) => plain(`,"attrs":[${many(200, (each) => `"a${at + each}"`)}]`, condition)],
  [
    'all attributes',
    (at, condition) => plain(`,"attrsFormat":"${at % 2 === 0 ? 'normalized' : 'keyValues'}"`, condition),
  ],
]

/** Transformations that read a text, or all of an array or object. */
const ofText = [
  'len',
  'uppercase',
  'lowercase',
  'trim',
  'substring(1,9)',
  'split("y")',
  "indexOf('y')",
  "includes('y')",
  "replaceStr('y','z')",
  "matchRegex('x+y')",
  "replaceRegex('x+y','z')",
  'parseInt',
  'parseFloat',
  'toJson',
  'getTime',
  'isNaN',
  'toString',
  "mapper(['y'],['z'])",
].map((text) => text.replaceAll('"', "'"))
const ofArray = ['arrSum', 'arrAvg', 'arrMax', 'arrMin', 'arrMed', 'arrSort', 'arrReverse', 'toString', 'len', 'typeOf']
const ofObject = ['keys', 'values', 'toString']

const reading = (text: string, what: string, most: number, value: (size: number) => string): Dimension => ({
  name: `${what} that 16 expressions \${a|${text}} read`,
  most,
  before: () => numbered(16).map((at) => hearing(`"json":["${at} \${a|${text}}"]`)),
  sent: (size) => batch('append', elementOfOne('a', value(size))),
  expects: /^204/,
})

const transformations: readonly Dimension[] = [
  ...ofText.map((text) => reading(text, 'letters', 900_000, (size) => `"${'x'.repeat(size)}"`)),
  ...['len', 'substring(1,9)', 'trim', 'uppercase'].map((text) =>
    reading(text, 'emoji', 220_000, (size) => `"${'😀'.repeat(size)}"`),
  ),
  ...['trim', 'parseInt', 'parseFloat', 'isNaN'].map((text) =>
    reading(text, 'spaces before a letter', 900_000, (size) => `"${' '.repeat(size)}x"`),
  ),
  ...['parseInt', 'parseFloat', 'isNaN', 'getTime'].map((text) =>
    reading(text, 'digits', 900_000, (size) => `"${'7'.repeat(size)}"`),
  ),
  ...ofArray.map((text) =>
    reading(text, 'numbers', 90_000, (size) => `[${many(size, (at) => `${(at * 7919) % 90_001}`)}]`),
  ),
  ...ofObject.map((text) => reading(text, 'members', 75_000, (size) => `{${many(size, (at) => `"${short(at)}":1`)}}`)),
]

const expressions: readonly Dimension[] = [
  '+1',
  '*(1',
  ',1',
  '?1:1',
  '.b',
  '-1',
  '[',
  '(',
  '!',
  "+'x'",
  '|len',
  '||a',
  '&&a',
  '>1',
  '[0]',
].map(
  (piece): Dimension => ({
    name: `length of 20 expressions of ${piece}`,
    most: 32_768,
    before: (size) =>
      numbered(20).map((at) => hearing(`"json":["${at} \${a${piece.repeat(Math.floor(size / piece.length))}}"]`)),
    sent: () => adding(ofOne(attribute('a'))),
    expects: done,
  }),
)

const notices: readonly Dimension[] = [
  ...kinds.flatMap(([name, subscription]): readonly Dimension[] => [
    {
      name: `subscriptions with ${name} that hear of an entity with 5000 attributes`,
      most: 200,
      before: (size) => [...numbered(size).map((at) => subscription(at, ofChangesOnly)), large],
      sent: change,
      expects: done,
    },
    {
      name: `length of a text that 50 subscriptions with ${name} hear of`,
      most: 900_000,
      before: () => numbered(50).map((at) => subscription(at, '')),
      sent: (size) => adding(ofOne(attribute('a1', `"${'x'.repeat(size)}"`))),
      expects: done,
    },
  ]),
  {
    name: 'macros of a template that hears of a change',
    most: 2000,
    before: (size) => [hearing(`"payload":"${many(size, (at) => `\${a${at}}`, ' ')}"`), large],
    sent: change,
    expects: done,
  },
  {
    name: 'members of a json template that hears of a change',
    most: 60_000,
    before: (size) => [hearing(`"json":{${many(size, (at) => `"${short(at)}":"v"`)}}`)],
    sent: change,
    expects: done,
  },
  {
    name: 'subscriptions with lists of 1000 attributes that hear of an entity with 5000',
    // Sixteen names of a list count as one of the 50,000 subscriptions that may be about one entity.
    most: 750,
    before: (size) => [
      ...numbered(size).map((at) => plain(`,"attrs":[${many(1000, (each) => `"a${at + each}"`)}]`, ofChangesOnly)),
      large,
    ],
    sent: change,
    expects: done,
  },
  {
    // What is notified is short: storing all of the entity with each change would write 600 MB and take 2.6 s.
    name: 'updates of a number, shown by a template, of an entity with a large object',
    most: 500,
    before: () => [
      hearing('"payload":"${n}"'),
      batch('append', elementOfOne('n', '0')),
      batch('append', elementOfOne('large', `{${many(25_000, (at) => `"${short(at)}":1`)}}`)),
    ],
    sent: (size) =>
      batch(
        'append',
        many(size, (at) => elementOfOne('n', `${size * 1000 + at}`)),
      ),
    expects: /^204/,
    work_ms: 1200,
  },
  {
    name: 'waiting notifications of a subscription that is deleted',
    most: 50_000,
    before: (size) => [
      ofEverything,
      ...numbered(Math.ceil(size / 5000)).map((each) =>
        adding(
          many(Math.min(5000, size), (at) => `{"id":"E${each}-${at}","type":"T","attributes":[${attribute('a')}]}`),
        ),
      ),
    ],
    sent: () => ({ verb: 'DELETE', path: '/v2/subscriptions/<id>' }),
    expects: /^204/,
  },
  {
    name: 'changes that one subscription hears of',
    most: 5000,
    before: () => [ofEverything],
    sent: (size) => adding(many(size, (at) => `{"id":"E${at}","type":"T","attributes":[${attribute('a')}]}`)),
    expects: done,
  },
]

/** What takes long in a turn, unless expressions are parsed once, read no more than they may, and requests have shares of turns. */
export const heldExpressions: readonly Dimension[] = [
  {
    // They are over at their first term: what they take is to parse them, which is done when a subscription comes into force.
    name: 'length of 100 conditions that 64 updates are compared with',
    most: 4000,
    before: (size) =>
      numbered(100).map((at) => plain('', `"jexlExpression":"a1=='${at}'&&b${'+1'.repeat(Math.floor(size / 2))}"`)),
    sent: (size) => adding(many(64, (at) => ofOne(attribute('a1', `"${size}-${at}"`)))),
    expects: done,
    // Parsed at each update it takes some 2 s.
    work_ms: 600,
  },
  {
    name: 'updates that 100 long conditions are compared with',
    most: 200,
    before: () =>
      numbered(100).map((at) =>
        plain('', `"jexlExpression":"${many(300, (each) => `a1==${at * 1000 + each}`, '||')}"`),
      ),
    sent: (size) => adding(many(size, (at) => ofOne(attribute('a1', `"${size}-${at}"`)))),
    expects: done,
  },
  {
    name: `numbers that 64 expressions \${a|arrMed} read`,
    most: 90_000,
    before: () => numbered(64).map((at) => hearing(`"json":["${at} \${a|arrMed}"]`)),
    sent: (size) => batch('append', elementOfOne('a', `[${many(size, (at) => `${(at * 7919) % 90_001}`)}]`)),
    expects: /^204/,
    // Each is refused before it reads them; read and sorted, they take 3 s on a machine with other work.
    work_ms: 400,
  },
]

/** Updates that subscriptions hear of: how many they are, what they show, and what their expressions read. */
export const noticeDimensions: readonly Dimension[] = [...notices, ...transformations, ...expressions]
