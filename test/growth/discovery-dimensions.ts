import { type Dimension, ofList } from './dimension.js'
import { get, many, post, put, type Sent, short, updating } from './given.js'
import {
  context,
  everything,
  hearing,
  ofIds,
  ofLongIds,
  patterns,
  registering,
  selector,
} from './given-registrations.js'

const discovering = (entities: string): Sent =>
  post('/v1/registry/discoverContextAvailability?limit=1000&details=on', `{"entities":[${entities}]}`)
const found = /"providingApplication"/

const discoveries: readonly Dimension[] = [
  {
    name: 'patterns in a discovery of thousands of long ids',
    most: 512,
    before: () => [ofLongIds(2500)],
    sent: (size) => discovering(`${patterns(size)},{"id":"lamp","isPattern":"true"}`),
    expects: found,
  },
  {
    name: 'long ids in a discovery by patterns',
    most: 3000,
    before: (size) => [ofLongIds(size)],
    sent: () => discovering(`${patterns(400)},{"id":"lamp","isPattern":"true"}`),
    expects: found,
  },
  {
    name: 'ids in a discovery',
    most: 1000,
    before: () => [ofIds(5000)],
    sent: (size) => discovering(many(size, (at) => selector(`r${at}`))),
    expects: found,
  },
  {
    name: 'patterns in a discovery',
    most: 1000,
    before: () => [ofIds(5000)],
    sent: (size) => discovering(many(size, (at) => `{"id":"r${at}.*","isPattern":"true"}`)),
    expects: found,
  },
  {
    name: 'entities in a discovery of everything',
    most: 5000,
    before: (size) => [ofIds(size)],
    sent: () => discovering(everything),
    expects: found,
  },
  {
    name: 'contexts in a discovery of everything',
    most: 1000,
    before: (size) => [registering(many(size, (at) => context(selector(`r${at}`), '{"name":"b"}')))],
    sent: () => discovering(everything),
    expects: found,
  },
  {
    name: 'entities in a discovery by a type',
    most: 5000,
    before: (size) => [ofIds(size)],
    sent: () => get('/v1/registry/contextEntityTypes/T'),
    expects: found,
  },
  ofList({
    name: 'attributes in a discovery',
    limit: 1000,
    item: (at) => `"${short(at)}"`,
    before: () => [ofIds(5000)],
    sent: (all) =>
      post('/v1/registry/discoverContextAvailability', `{"entities":[${everything}],"attributes":[${all}]}`),
    expects: /"code":"404"|providingApplication/,
  }),
  ofList({
    name: 'ids in subscribeContextAvailability',
    limit: 1000,
    item: (at) => `{"id":"r${at}"}`,
    before: () => [ofIds(5000)],
    sent: (all) => hearing(all),
    expects: /subscriptionId/,
  }),
  ofList({
    name: 'ids in a subscription to registrations by its path',
    limit: 1000,
    item: (at) => `{"id":"r${at}"}`,
    before: () => [ofIds(5000)],
    sent: (all) => hearing(all, 'contextAvailabilitySubscriptions'),
    expects: /subscriptionId/,
  }),
  {
    name: 'entities in an availability subscription to everything',
    most: 5000,
    before: (size) => [ofIds(size)],
    sent: () => hearing(everything),
    expects: /subscriptionId/,
  },
  ofList({
    name: 'ids in updateContextAvailabilitySubscription',
    limit: 1000,
    item: (at) => `{"id":"r${at}"}`,
    before: () => [ofIds(5000), hearing(everything)],
    sent: (all) =>
      post(
        '/v1/registry/updateContextAvailabilitySubscription',
        `{"subscriptionId":"<id>","entities":[${all}],"duration":"P1Y"}`,
      ),
    expects: /subscriptionId/,
  }),
  ofList({
    name: 'ids in PUT of a subscription to registrations',
    limit: 1000,
    item: (at) => `{"id":"r${at}"}`,
    before: () => [ofIds(5000), hearing(everything)],
    sent: (all) =>
      put(
        '/v1/registry/contextAvailabilitySubscriptions/<id>',
        `{"subscriptionId":"<id>","entities":[${all}],"duration":"P1Y"}`,
      ),
    expects: /subscriptionId/,
  }),
]

/** What is passed on to a provider that does not respond. */
const forwarded: readonly Dimension[] = [
  {
    name: 'ids of queryContext that are registered',
    most: 1000,
    before: () => [ofIds(5000)],
    sent: (size) => post('/v1/queryContext', `{"entities":[${many(size, (at) => selector(`r${at}`))}]}`),
    expects: /"code":"404"/,
  },
  {
    name: 'entities that are registered in queryContext by a pattern',
    most: 5000,
    before: (size) => [ofIds(size)],
    sent: () => post('/v1/queryContext', '{"entities":[{"id":"r.*","type":"T","isPattern":"true"}]}'),
    expects: /"code":"404"/,
  },
  {
    name: 'elements of updateContext that are registered',
    most: 5000,
    before: () => [ofIds(5000)],
    sent: (size) =>
      updating(
        'UPDATE',
        many(size, (at) => `{"id":"r${at}","type":"T","attributes":[{"name":"a","value":"1"}]}`),
      ),
    expects: /"code":"(404|503)"/,
  },
  {
    name: 'ids of op/query that are registered',
    most: 1000,
    before: () => [ofIds(5000)],
    sent: (size) => post('/v2/op/query', `{"entities":[${many(size, (at) => selector(`r${at}`))}]}`),
    expects: /^200 \[\]/,
  },
]

/** Discoveries, subscriptions to registrations, and requests for what is registered. */
export const discoveryDimensions: readonly Dimension[] = [...discoveries, ...forwarded]
