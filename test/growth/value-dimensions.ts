import { asJson, type Dimension, ofList, ofRuns, type Place } from './dimension.js'
import { adding, attribute, batch, elementOfOne, ofOne, patch, post, put, type Sent, short } from './given.js'

interface Writer {
  readonly name: string
  readonly before?: () => readonly Sent[]
  readonly sent: (value: string) => Sent
  /** How deep a value may be. */
  readonly depth: number
  readonly done: RegExp
}

const one = (): readonly Sent[] => [adding(ofOne(attribute('a')))]

/** Every way in which the value of an attribute is written. */
const writers: readonly Writer[] = [
  {
    name: 'updateContext',
    sent: (value) => adding(ofOne(attribute('a', value))),
    depth: 190,
    done: /^200 .*"code":"200"/s,
  },
  {
    name: 'PUT of an attribute of NGSIv1',
    before: one,
    sent: (value) => put('/v1/contextEntities/One/attributes/a', `{"value":${value}}`),
    depth: 190,
    done: /^200 .*"code":"200"/s,
  },
  {
    name: 'notifyContext',
    sent: (value) =>
      post(
        '/v1/notifyContext',
        `{"subscriptionId":"5718a2f1c0de000000000000","originator":"o","contextResponses":[{"contextElement":${ofOne(attribute('a', value))},"statusCode":{"code":"200"}}]}`,
      ),
    depth: 190,
    done: /^200 .*"code":"200"/s,
  },
  {
    name: 'POST of an entity',
    sent: (value) => post('/v2/entities', elementOfOne('a', value)),
    depth: 45,
    done: /^201/,
  },
  {
    name: 'PATCH of attributes',
    before: one,
    sent: (value) => patch('/v2/entities/One/attrs', `{"a":{"value":${value}}}`),
    depth: 45,
    done: /^204/,
  },
  {
    name: 'PUT of a value',
    before: one,
    sent: (value) => ({
      ...put('/v2/entities/One/attrs/a/value', value),
      headers: { 'Content-Type': /^[[{]/.test(value) ? 'application/json' : 'text/plain' },
    }),
    depth: 45,
    done: /^204/,
  },
  { name: 'op/update', sent: (value) => batch('append', elementOfOne('a', value)), depth: 45, done: /^204/ },
]

const ofWriter = ({ name, before, sent, depth, done }: Writer): readonly Dimension[] => [
  ofList({
    name: `numbers of an array in ${name}`,
    limit: 90_000,
    item: () => '1',
    before,
    sent: (all) => sent(`[${all}]`),
    expects: done,
  }),
  ofList({
    name: `empty arrays of an array in ${name}`,
    limit: 90_000,
    item: () => '[]',
    before,
    sent: (all) => sent(`[${all}]`),
    expects: done,
  }),
  ofList({
    name: `texts of an array in ${name}`,
    limit: 90_000,
    item: (at) => `"${short(at)}"`,
    before,
    sent: (all) => sent(`[${all}]`),
    expects: done,
  }),
  ofList({
    name: `members of an object in ${name}`,
    limit: 80_000,
    item: (at) => `"${short(at)}":1`,
    before,
    sent: (all) => sent(`{${all}}`),
    expects: done,
  }),
  ofList({
    name: `equal members of an object in ${name}`,
    item: () => '"a":1',
    before,
    sent: (all) => sent(`{${all}}`),
    expects: /^(20|400|422)/,
  }),
  ofList({
    name: `arrays of arrays of arrays in ${name}`,
    limit: 2000,
    item: () => `${'['.repeat(depth - 5)}${']'.repeat(depth - 5)}`,
    before,
    sent: (all) => sent(`[${all}]`),
    expects: done,
  }),
  {
    name: `depth of a value in ${name}`,
    most: depth,
    before,
    sent: (size) => sent(`${'['.repeat(size)}${']'.repeat(size)}`),
    expects: done,
  },
  {
    name: `control characters of a value in ${name}`,
    most: 170_000,
    before,
    sent: (size) => sent(`"${'\\u0001'.repeat(size)}"`),
    expects: /^(20|4)/,
  },
]

const places: readonly Place[] = [
  {
    name: 'a value in updateContext',
    most: 1_000_000,
    written: asJson,
    sent: (text) => adding(ofOne(attribute('a', `"${text}"`))),
    expects: /^200 .*"code":"(200|400)"/s,
  },
  {
    name: 'a value in op/update',
    most: 1_000_000,
    written: asJson,
    sent: (text) => batch('append', elementOfOne('a', `"${text}"`)),
    expects: /^(204|400)/,
  },
  {
    name: 'an id in updateContext',
    most: 1_000_000,
    written: asJson,
    sent: (text) => adding(`{"id":"${text}"}`),
    expects: /^200 .*"code":"400"/s,
  },
  {
    name: 'an id in op/update',
    most: 1_000_000,
    written: asJson,
    sent: (text) => batch('append', `{"id":"${text}","type":"T"}`),
    expects: /^400/,
  },
  {
    name: 'a DateTime',
    most: 1_000_000,
    written: asJson,
    sent: (text) =>
      batch('append', `{"id":"One","type":"T","a":{"type":"DateTime","value":"2026-01-01T00:00:00${text}"}}`),
    expects: /^400/,
  },
  {
    name: 'a geo:point',
    most: 1_000_000,
    written: asJson,
    sent: (text) => batch('append', `{"id":"One","type":"T","a":{"type":"geo:point","value":"1,2${text}"}}`),
    expects: /^(204|400|422)/,
  },
]

const locations: readonly Dimension[] = [
  ofList({
    name: 'points of a geo:polygon',
    limit: 5000,
    item: (at) => `"${Math.cos(at / 800).toFixed(6)},${Math.sin(at / 800).toFixed(6)}"`,
    sent: (all) =>
      batch('append', `{"id":"One","type":"T","a":{"type":"geo:polygon","value":[${all},"1.000000,0.000000"]}}`),
    expects: /^204/,
  }),
  ofList({
    name: 'points of a line of geo:json',
    limit: 9000,
    item: (at) => `[${Math.cos(at / 800).toFixed(6)},${Math.sin(at / 800).toFixed(6)}]`,
    sent: (all) =>
      batch(
        'append',
        `{"id":"One","type":"T","a":{"type":"geo:json","value":{"type":"LineString","coordinates":[${all}]}}}`,
      ),
    expects: /^204/,
  }),
]

/** Values of attributes, and the texts that an update names, whichever operation writes them. */
export const values: readonly Dimension[] = [...writers.flatMap(ofWriter), ...places.flatMap(ofRuns), ...locations]
