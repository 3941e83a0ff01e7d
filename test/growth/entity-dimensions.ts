import { type Dimension, ofList } from './dimension.js'
import { adding, attribute, batch, elementOfOne, many, ofOne, patch, post, put, type Sent, short } from './given.js'
import { large, name, one, rich } from './given-entities.js'

const member = (at: number): string => `"${name(at)}":{"value":1}`
const plain = (at: number): string => `"${name(at)}":1`
const metadata = (at: number): string => `"${short(at)}":{"value":1}`

/** The writes of one entity, by the members of what they are given. */
const writes: readonly (readonly [string, (members: string) => Sent, RegExp, RegExp])[] = [
  ['POST of an entity', (all) => post('/v2/entities', `{"id":"Two","type":"T",${all}}`), /^201/, /^201/],
  [
    'POST of an entity with upsert',
    (all) => post('/v2/entities?options=upsert', `{"id":"One","type":"T",${all}}`),
    /^(201|204)/,
    /^(201|204)/,
  ],
  ['POST of attributes', (all) => post('/v2/entities/One/attrs', `{${all}}`), /^204/, /^204/],
  [
    'POST of attributes with append',
    (all) => post('/v2/entities/One/attrs?options=append', `{${all}}`),
    /^(204|422)/,
    /^(204|422)/,
  ],
  ['PATCH of attributes', (all) => patch('/v2/entities/One/attrs', `{${all}}`), /^204/, /^204/],
  ['PUT of attributes', (all) => put('/v2/entities/One/attrs', `{${all}}`), /^204/, /^204/],
]

const writing = writes.flatMap(([name, sent, done, doneOfMetadata]): readonly Dimension[] => [
  ofList({ name: `attributes in ${name}`, limit: 5000, item: member, before: large, sent, expects: done }),
  ofList({
    name: `attributes beyond the limit in ${name}`,
    item: member,
    before: one,
    sent,
    expects: /^4\d\d/,
  }),
  ofList({
    name: `attributes as keyValues in ${name}`,
    limit: 5000,
    item: plain,
    before: large,
    sent: (all) => {
      const { path, ...rest } = sent(all)
      return { ...rest, path: `${path}${path.includes('?') ? ',' : '?options='}keyValues` }
    },
    expects: done,
  }),
  ofList({
    name: `metadata in ${name}`,
    limit: 10_000,
    item: metadata,
    before: rich,
    sent: (all) => sent(`"a":{"value":1,"metadata":{${all}}}`),
    expects: doneOfMetadata,
  }),
])

const attributes: readonly Dimension[] = [
  ofList({
    name: 'metadata in PUT of an attribute',
    limit: 10_000,
    item: metadata,
    before: rich,
    sent: (all) => put('/v2/entities/One/attrs/a', `{"value":1,"metadata":{${all}}}`),
    expects: /^204/,
  }),
  ...(['1', '"x"', '{"value":1}'] as const).map(
    (body): Dimension => ({
      name: `attributes beside the one that PUT changes to ${body}`,
      most: 5000,
      before: large,
      sent: () => ({
        ...put(`/v2/entities/One/attrs/a0${body.startsWith('{') ? '' : '/value'}`, body),
        headers: { 'Content-Type': body.startsWith('{') ? 'application/json' : 'text/plain' },
      }),
      expects: /^204/,
    }),
  ),
  {
    name: 'attributes beside the one that DELETE removes',
    most: 5000,
    before: large,
    sent: () => ({ verb: 'DELETE', path: '/v2/entities/One/attrs/a0' }),
    expects: /^204/,
  },
  {
    name: 'attributes of an entity that DELETE removes',
    most: 5000,
    before: large,
    sent: () => ({ verb: 'DELETE', path: '/v2/entities/One' }),
    expects: /^204/,
  },
]

const element = (at: number): string => `{"id":"E${at}","type":"T","a":{"value":1}}`

const batches = ['append', 'appendStrict', 'update', 'replace', 'delete'].flatMap((action): readonly Dimension[] => [
  ofList({
    name: `entities that are there in ${action} of op/update`,
    limit: 20_000,
    item: element,
    before: (size) => [batch('append', many(size, element))],
    sent: (all) => batch(action, all),
    expects: action === 'appendStrict' ? /^(204|422)/ : /^204/,
  }),
  ofList({
    name: `entities that are not there in ${action} of op/update`,
    limit: 20_000,
    item: element,
    sent: (all) => batch(action, all),
    expects: /^(204|404)/,
  }),
  ofList({
    name: `attributes in ${action} of op/update`,
    limit: 5000,
    item: member,
    before: large,
    sent: (all) => batch(action, `{"id":"One","type":"T",${all}}`),
    expects: /^(204|422)/,
  }),
  ofList({
    name: `metadata in ${action} of op/update`,
    limit: 10_000,
    item: metadata,
    before: rich,
    sent: (all) => batch(action, `{"id":"One","type":"T","a":{"value":1,"metadata":{${all}}}}`),
    expects: /^(204|422)/,
  }),
  ofList({
    name: `elements of one entity, each with another attribute, in ${action} of op/update`,
    limit: 5000,
    item: (at) => elementOfOne(`a${at}`, '1'),
    before: (size) => [adding(ofOne(many(size, (at) => attribute(`a${at}`))))],
    sent: (all) => batch(action, all),
    expects: /^(204|422)/,
  }),
])

const notifying = (data: string): Sent =>
  post('/v2/op/notify', `{"subscriptionId":"5718a2f1c0de000000000000","data":[${data}]}`)

const notified: readonly Dimension[] = [
  ofList({ name: 'entities in op/notify', limit: 20_000, item: element, sent: notifying, expects: /^(200|204)/ }),
  ofList({
    name: 'attributes in op/notify',
    limit: 5000,
    item: member,
    sent: (all) => notifying(`{"id":"One","type":"T",${all}}`),
    expects: /^(200|204)/,
  }),
  ofList({
    name: 'elements in notifyContext',
    limit: 14_000,
    item: (at) => `{"contextElement":{"id":"${short(at)}","type":"T","attributes":[]},"statusCode":{"code":"200"}}`,
    sent: (all) =>
      post(
        '/v1/notifyContext',
        `{"subscriptionId":"5718a2f1c0de000000000000","originator":"o","contextResponses":[${all}]}`,
      ),
    expects: /"code":"200"/,
  }),
]

/** Writes of entities and attributes of NGSIv2, its batches, and what brokers are notified of. */
export const entityDimensions: readonly Dimension[] = [...writing, ...attributes, ...batches, ...notified]
