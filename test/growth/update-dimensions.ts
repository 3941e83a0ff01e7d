import { type Dimension, ofList } from './dimension.js'
import { adding, attribute, many, ofOne, type Sent, short, updating } from './given.js'

const instance = (at: number): string => attribute('a', '"1"', `{"name":"ID","value":"${at}"}`)
const named = (at: number): string => attribute(short(at))
const metadata = (at: number): string => `{"name":"${short(at)}","value":"1"}`
const withAttribute = (at: number): string => `{"id":"${short(at)}","type":"T","attributes":[${attribute('a')}]}`

/** What a single element grows in, with all of it there before. */
const ofAction = (action: string): readonly Dimension[] => {
  const over = (name: string, limit: number, item: (at: number) => string, around: (items: string) => string) =>
    ofList({
      name: `${name} in ${action} of updateContext`,
      limit,
      item,
      before: (size) => [adding(around(many(size, item)))],
      sent: (items: string): Sent => updating(action, around(items)),
      // Of what is there already, nothing is appended.
      expects: action === 'APPEND_STRICT' ? /^200 .*"code":"(200|400|472)"/s : /^200 .*"code":"200"/s,
    })
  return [
    over('elements of different entities that are there', 20_000, withAttribute, (items) => items),
    over('attributes that are there', 5000, named, ofOne),
    over('metadata that are there', 10_000, metadata, (items) => ofOne(attribute('a', '"1"', items))),
    over('instances that are there', 5000, instance, ofOne),
    over(
      'items of an array that is there',
      90_000,
      () => '1',
      (items) => ofOne(attribute('a', `[${items}]`)),
    ),
    over(
      'elements of one entity, each with an attribute that is there',
      5000,
      (at) => ofOne(named(at)),
      (items) => items,
    ),
    ofList({
      name: `tiny elements in ${action} of updateContext`,
      item: (at) => `{"id":"${short(at)}"}`,
      sent: (items) => updating(action, items),
      expects: /^200 .*"code":"(200|404|422|472)"/s,
    }),
  ]
}

const elements: readonly Dimension[] = [
  ...[
    ['the same id', '{"id":"o"}', /"code":"200"/],
    ['ids that are patterns', '{"id":"o","isPattern":"true"}', /"code":"/],
    ['an attribute twice', '{"id":"o","attributes":[{"name":"a","value":"1"},{"name":"a","value":"1"}]}', /"code":"/],
    ['nothing', '{}', /empty entityId/],
  ].map(([what, item, expects]) =>
    ofList({
      name: `elements of ${what} in updateContext`,
      item: () => `${item}`,
      sent: adding,
      expects: new RegExp(expects ?? ''),
    }),
  ),
  ofList({
    name: 'elements with numbers as ids in updateContext',
    item: (at) => `{"id":${at}}`,
    sent: adding,
    expects: /"code":"/,
  }),
  ofList({
    name: 'elements of empty objects beside a number as the action',
    item: () => '{}',
    sent: (items) => ({
      verb: 'POST',
      path: '/v1/updateContext',
      body: `{"updateAction":1,"contextElements":[${items}]}`,
    }),
    expects: /empty entityId/,
  }),
  ofList({
    name: 'elements without an action',
    item: (at) => `{"id":"${short(at)}"}`,
    sent: (items) => ({ verb: 'POST', path: '/v1/updateContext', body: `{"contextElements":[${items}]}` }),
    expects: /empty update action/i,
  }),
  ofList({
    name: 'elements of which the last is malformed',
    item: (at) => `{"id":"${short(at)}"}`,
    sent: (items) => adding(`${items},}`),
    expects: /JSON Parse Error/,
  }),
  ofList({
    name: 'elements that are not there, in UPDATE',
    item: withAttribute,
    sent: (items) => updating('UPDATE', items),
    expects: /"code":"404"/,
  }),
  ofList({
    name: 'elements of one entity in updateContext, each with other metadata',
    limit: 5000,
    item: (at) => ofOne(attribute('a', '"1"', metadata(at))),
    sent: adding,
    expects: /"code":"200"/,
  }),
  {
    name: 'entities of one id that each element means',
    most: 125,
    before: () => [adding(many(1000, (at) => `{"id":"One","type":"T${at}","attributes":[${attribute('a')}]}`))],
    sent: (size) =>
      updating(
        'UPDATE',
        many(size, (at) => `{"id":"One","attributes":[${attribute('a', `"${at}"`)}]}`),
      ),
    expects: /"code":"200"/,
  },
]

/** What is not refused until all of it has been read. */
const tooMany: readonly Dimension[] = [
  ofList({
    name: 'attributes without values',
    item: (at) => `{"name":"${short(at)}"}`,
    sent: (all) => adding(ofOne(all)),
    expects: /"code":"4/,
  }),
  ofList({
    name: 'attributes beyond the limit in DELETE',
    item: (at) => `{"name":"${short(at)}"}`,
    sent: (all) => updating('DELETE', ofOne(all)),
    expects: /"code":"/,
  }),
  ofList({ name: 'attributes beyond the limit', item: named, sent: (all) => adding(ofOne(all)), expects: /"code":"/ }),
  ofList({
    name: 'attributes beyond the limit with metadata',
    item: (at) => attribute(short(at), '"1"', `{"name":"ID","value":"${at}"}`),
    sent: (all) => adding(ofOne(all)),
    expects: /"code":"/,
  }),
  ofList({
    name: 'attributes beside one that is a number',
    item: named,
    sent: (all) => adding(ofOne(`{"name":"n","value":1},${all}`)),
    expects: /"code":"4/,
  }),
  ofList({
    name: 'metadata beyond the limit',
    item: metadata,
    sent: (all) => adding(ofOne(attribute('m', '"1"', all))),
    expects: /"code":"/,
  }),
  ofList({
    name: 'unknown members of a body',
    item: (at) => `"${short(at)}":1`,
    sent: (all) => ({ verb: 'POST', path: '/v1/updateContext', body: `{${all}}` }),
    expects: /unknown field/,
  }),
  ofList({
    name: 'equal members of a body',
    item: () => '"updateAction":"UPDATE"',
    sent: (all) => ({ verb: 'POST', path: '/v1/updateContext', body: `{${all}}` }),
    expects: /"code":"/,
  }),
  {
    name: 'spaces of a body',
    most: 2 ** 20 - 2,
    sent: (size) => ({ verb: 'POST', path: '/v1/updateContext', body: `{${' '.repeat(size)}}` }),
    expects: /"code":"/,
  },
  {
    name: 'open brackets of a body',
    most: 2 ** 20,
    sent: (size) => ({ verb: 'POST', path: '/v1/updateContext', body: '['.repeat(size) }),
    expects: /JSON Parse Error/,
  },
]

/** `updateContext`: the actions, and what its elements and bodies grow in. */
export const updates: readonly Dimension[] = [
  ...['APPEND', 'APPEND_STRICT', 'UPDATE', 'REPLACE', 'DELETE'].flatMap(ofAction),
  ...elements,
  ...tooMany,
]
