import { type Dimension, ofList } from './dimension.js'
import {
  adding,
  attribute,
  condition,
  get,
  many,
  numbered,
  ofOne,
  patch,
  point,
  post,
  put,
  type Sent,
  short,
  vertex,
} from './given.js'

const url = '"url":"http://127.0.0.1:9/n"'
const subject = '"subject":{"entities":[{"id":"One"}]}'
const subscribing = (entities: string, attributes = '', conditions = condition(1)): Sent =>
  post(
    '/v1/subscribeContext',
    `{"entities":[${entities}],"attributes":[${attributes}],"reference":"http://127.0.0.1:9/n","duration":"P1Y","notifyConditions":[${conditions}]}`,
  )
const one = '{"id":"One","type":"T"}'
const subscribed = /subscribeResponse/

const subscriptions: readonly Dimension[] = [
  ofList({
    name: 'ids in subscribeContext',
    limit: 1000,
    item: (at) => `{"id":"s${at}"}`,
    sent: subscribing,
    expects: subscribed,
  }),
  ofList({
    name: 'long ids in subscribeContext',
    limit: 1000,
    item: (at) => `{"id":"${'x'.repeat(900)}${at}"}`,
    sent: subscribing,
    expects: subscribed,
  }),
  ofList({
    name: 'attributes in subscribeContext',
    limit: 1000,
    item: (at) => `"${short(at)}"`,
    sent: (all) => subscribing(one, all),
    expects: subscribed,
  }),
  ofList({
    name: 'ids beyond the limit in subscribeContext',
    item: (at) => `{"id":"${short(at)}"}`,
    sent: subscribing,
    expects: /"code":"/,
  }),
  {
    name: 'triggering attributes in subscribeContext',
    most: 1000,
    sent: (size) => subscribing(one, '', condition(size)),
    expects: subscribed,
  },
  {
    name: 'ids, attributes and triggering attributes at once in subscribeContext',
    most: 1000,
    sent: (size) =>
      subscribing(
        many(size, (at) => `{"id":"s${at}"}`),
        many(size, (at) => `"${short(at)}"`),
        condition(size),
      ),
    expects: subscribed,
  },
  {
    name: 'patterns, attributes and triggering attributes at once in subscribeContext',
    most: 1000,
    sent: (size) =>
      subscribing(
        many(size, (at) => `{"id":"s${at}[0-9]*","isPattern":"true"}`),
        many(size, (at) => `"${short(at)}"`),
        condition(size),
      ),
    expects: /subscribeResponse|no room|takes too long to compile/,
  },
  ofList({
    name: 'conditions in subscribeContext',
    limit: 10_000,
    item: () => condition(1),
    sent: (all) => subscribing(one, '', all),
    expects: /"code":"400"|subscribeResponse/,
  }),
  ofList({
    name: 'vertices of a polygon in subscribeContext',
    limit: 10_000,
    item: vertex,
    sent: (all) =>
      post(
        '/v1/subscribeContext',
        `{"entities":[${one}],"restriction":{"scopes":[{"type":"FIWARE::Location","value":{"polygon":{"vertices":[${all}]}}}]},"reference":"http://127.0.0.1:9/n","notifyConditions":[${condition(1)}]}`,
      ),
    expects: /subscribe/,
  }),
  ...[
    ['updateContextSubscription', (body: string) => post('/v1/updateContextSubscription', body)] as const,
    ['PUT of contextSubscriptions', (body: string) => put('/v1/contextSubscriptions/<id>', body)] as const,
  ].map(
    ([name, sent]): Dimension => ({
      name: `triggering attributes in ${name}`,
      most: 1000,
      before: () => [subscribing(one)],
      sent: (size) => sent(`{"subscriptionId":"<id>","duration":"P1Y","notifyConditions":[${condition(size)}]}`),
      expects: subscribed,
    }),
  ),
  {
    name: 'attributes of the initial notification of subscribeContext',
    most: 5000,
    before: (size) => [adding(ofOne(many(size, (at) => attribute(short(at)))))],
    sent: () => subscribing(one),
    expects: subscribed,
  },
]

/** Where a subscription of NGSIv2 has lists, by what is in one of them. */
const lists: readonly (readonly [string, number, (at: number) => string, (items: string) => string])[] = [
  [
    'entities',
    1000,
    (at) => `{"id":"s${at}"}`,
    (all) => `"subject":{"entities":[${all}]},"notification":{"http":{${url}}}`,
  ],
  [
    'long ids',
    1000,
    (at) => `{"id":"${'x'.repeat(240)}${at}"}`,
    (all) => `"subject":{"entities":[${all}]},"notification":{"http":{${url}}}`,
  ],
  [
    'triggering attributes',
    1000,
    (at) => `"a${at}"`,
    (all) => `"subject":{"entities":[${one}],"condition":{"attrs":[${all}]}},"notification":{"http":{${url}}}`,
  ],
  [
    'attrs of notifications',
    1000,
    (at) => `"a${at}"`,
    (all) => `${subject},"notification":{"http":{${url}},"attrs":[${all}]}`,
  ],
  [
    'exceptAttrs of notifications',
    1000,
    (at) => `"a${at}"`,
    (all) => `${subject},"notification":{"http":{${url}},"exceptAttrs":[${all}]}`,
  ],
  [
    'metadata of notifications',
    1000,
    (at) => `"a${at}"`,
    (all) => `${subject},"notification":{"http":{${url}},"metadata":[${all}]}`,
  ],
  [
    'headers of notifications',
    200,
    (at) => `"h${at}":"v"`,
    (all) => `${subject},"notification":{"httpCustom":{${url},"headers":{${all}}}}`,
  ],
  [
    'qs of notifications',
    1000,
    (at) => `"h${at}":"v"`,
    (all) => `${subject},"notification":{"httpCustom":{${url},"qs":{${all}}}}`,
  ],
  [
    'members of a json template',
    1000,
    (at) => `"k${at}":"\${a${at}}"`,
    (all) => `${subject},"notification":{"httpCustom":{${url},"json":{${all}}}}`,
  ],
  [
    'items of a json template',
    1000,
    (at) => `"\${a${at}}"`,
    (all) => `${subject},"notification":{"httpCustom":{${url},"json":[${all}]}}`,
  ],
  [
    'attributes of an ngsi template',
    1000,
    (at) => `"k${at}":{"value":"\${a${at}}"}`,
    (all) => `${subject},"notification":{"httpCustom":{${url},"ngsi":{${all}}}}`,
  ],
  [
    'members of a value of an ngsi template',
    60_000,
    (at) => `"${short(at)}":1`,
    (all) => `${subject},"notification":{"httpCustom":{${url},"ngsi":{"a":{"value":{${all}}}}}}`,
  ],
]

const madeOrRejected = /^(201|204|400|413|503)/

const subscriptions2: readonly Dimension[] = lists.flatMap(([name, limit, item, around]) => [
  ofList({
    name: `${name} in POST of a subscription`,
    limit,
    item,
    sent: (all) => post('/v2/subscriptions', `{${around(all)}}`),
    expects: /^(201|400.*(max|not))/,
  }),
  ofList({
    name: `${name} beyond the limit in POST of a subscription`,
    item,
    sent: (all) => post('/v2/subscriptions', `{${around(all)}}`),
    expects: madeOrRejected,
  }),
  ofList({
    name: `${name} in PATCH of a subscription`,
    limit,
    item,
    before: () => [post('/v2/subscriptions', `{${subject},"notification":{"http":{${url}}}}`)],
    sent: (all) => patch('/v2/subscriptions/<id>', `{${around(all)}}`),
    expects: /^(204|400.*(max|not))/,
  }),
  ofList({
    name: `${name} in GET of a subscription`,
    limit,
    item,
    before: (size) => [post('/v2/subscriptions', `{${around(many(size, item))}}`)],
    sent: () => get('/v2/subscriptions/<id>'),
    expects: /^(200|404)/,
  }),
])

const expressions: readonly Dimension[] = [
  ...['q', 'mq'].map(
    (kind): Dimension => ({
      name: `statements of ${kind} in a subscription`,
      most: 1000,
      sent: (size) => {
        const text = many(size, (at) => `${kind === 'q' ? 'a' : 'a.m'}${at}==b`, ';')
        const filtered = `"subject":{"entities":[${one}],"condition":{"expression":{"${kind}":"${text}"}}}`
        return post('/v2/subscriptions', `{${filtered},"notification":{"http":{${url}}}}`)
      },
      expects: /^201/,
    }),
  ),
  {
    name: 'points of a polygon in a subscription',
    most: 9998,
    sent: (size) => {
      const place = `"georel":"coveredBy","geometry":"polygon","coords":"${many(size, point, ';')};${point(0)}"`
      const filtered = `"subject":{"entities":[${one}],"condition":{"expression":{${place}}}}`
      return post('/v2/subscriptions', `{${filtered},"notification":{"http":{${url}}}}`)
    },
    expects: /^201/,
  },
  {
    name: 'subscriptions on a page',
    most: 1000,
    before: (size) =>
      numbered(size).map((at) => {
        const never = `{"entities":[{"id":"never${at}"}],"condition":{"attrs":[${many(200, (name) => `"a${name}"`)}]}}`
        return post('/v2/subscriptions', `{"subject":${never},"notification":{"http":{${url}}}}`)
      }),
    sent: (size) => get(`/v2/subscriptions?limit=${size}`),
    expects: /^200 \[\{/,
  },
]

/** Subscriptions of both interfaces: what is written in them, and how they are shown. */
export const subscriptionDimensions: readonly Dimension[] = [...subscriptions, ...subscriptions2, ...expressions]
