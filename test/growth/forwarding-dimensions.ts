import { type Dimension, ofList } from './dimension.js'
import { get, many, numbered, patch, post, type Sent, short, updating } from './given.js'
import { registering } from './given-registrations.js'

const inPath = (path: string, sent: Sent): Sent => ({ ...sent, headers: { 'Fiware-ServicePath': path } })

/** Registrations of 5000 contexts that name one entity, in a path of their own. */
const namingOne = (registrations: number): readonly Sent[] =>
  numbered(registrations).map(() =>
    inPath(
      '/b',
      registering(
        many(5000, () => '{"entities":[{"id":"One","type":"T"}],"providingApplication":"http://127.0.0.1:9/"}'),
      ),
    ),
  )

/** Requests for an entity that many registrations name, of which none may be used. */
const unusable: readonly Dimension[] = [
  ofList({
    name: 'attributes of an entity in UPDATE that 25000 contexts of another path name',
    limit: 5000,
    item: (at) => `{"name":"${short(at)}","value":"1"}`,
    before: () => namingOne(5),
    sent: (all) => inPath('/a', updating('UPDATE', `{"id":"One","type":"T","attributes":[${all}]}`)),
    expects: /"code":"404"/,
  }),
  ofList({
    name: 'attributes of an entity in PATCH that 25000 contexts of another path name',
    limit: 5000,
    item: (at) => `"b${short(at)}":{"value":1}`,
    before: () => namingOne(5),
    sent: (all) => inPath('/a', patch('/v2/entities/One/attrs?type=T', `{${all}}`)),
    expects: /^404/,
  }),
  {
    name: 'attributes in op/query of an entity that 25000 contexts of another path name',
    most: 1000,
    before: () => namingOne(5),
    sent: (size) =>
      inPath(
        '/a',
        post(
          '/v2/op/query',
          `{"entities":[{"id":"One","type":"T"}],"attrs":[${many(size, (at) => `"${short(at)}"`)}]}`,
        ),
      ),
    expects: /^200 \[\]/,
  },
]

/** A notification of 5000 contexts, of a subscription of its own, that name the entity. It gives no id. */
const tellingOfOne = (subscription: number): Sent =>
  inPath(
    '/b',
    post(
      '/v1/registry/notifyContextAvailability',
      `{"subscriptionId":"${subscription.toString(16).padStart(24, '5')}","contextRegistrationResponses":[${many(
        5000,
        (at) => `{"contextRegistration":{"entities":[{"id":"One","type":"T"}],"providingApplication":"${at}"}}`,
      )}]}`,
    ),
  )

const ofOne = (size: number, more = ''): Sent =>
  inPath(
    '/b',
    post(
      '/v1/registry/registerContext',
      `{"contextRegistrations":[${many(size, (at) => `{"entities":[{"id":"One","type":"T"}],"providingApplication":"${at}"}`)}],"duration":"P1M"${more}}`,
    ),
  )

/** What is done with a registration that was made before many others of the same entity. */
const among: readonly Dimension[] = [
  {
    name: 'contexts in a registration that is made again before 100000 others of its entity',
    most: 5000,
    before: () => [ofOne(5000), ...numbered(20).map(tellingOfOne)],
    sent: (size) => ofOne(size, ',"registrationId":"<id>"'),
    expects: /registrationId/,
  },
  {
    name: 'contexts that stay in DELETE of one of a registration before 100000 others of its entity',
    most: 5000,
    before: (size) => [ofOne(size), ...numbered(20).map(tellingOfOne)],
    sent: () => inPath('/b', { verb: 'DELETE', path: '/v2/registrations/<id>' }),
    expects: /^204/,
  },
  {
    name: 'registrations of 5000 contexts that name an entity in GET',
    most: 20,
    before: (size) => numbered(size).map(tellingOfOne),
    sent: () => inPath('/b', get('/v2/entities/One')),
    expects: /^(404|503)/,
  },
]

/** A registration of every id of 5000 types. */
const everyIdOfTypes = (registration: number): Sent =>
  post(
    '/v2/registrations',
    `{"dataProvided":{"entities":[${many(5000, (at) => `{"idPattern":".*","type":"t${registration}_${at}"}`)}]},"provider":{"http":{"url":"http://127.0.0.1:9/v2"}}}`,
  )

const ofEveryId: readonly Dimension[] = [
  {
    name: 'ids of op/query, each registered with 5000 types',
    most: 4,
    before: () => [everyIdOfTypes(0)],
    sent: (size) => post('/v2/op/query', `{"entities":[${many(size, (at) => `{"id":"q${at}"}`)}]}`),
    expects: /^200 \[\]/,
  },
  {
    name: 'ids beyond the limit of op/query, each registered with 5000 types',
    most: 1000,
    before: () => [everyIdOfTypes(0)],
    sent: (size) => post('/v2/op/query', `{"entities":[${many(size, (at) => `{"id":"q${at}"}`)}]}`),
    expects: /^400 .*too many types/,
  },
  {
    name: 'registrations of every id of 5000 types in GET of an entity',
    most: 10,
    before: (size) => numbered(size).map(everyIdOfTypes),
    sent: () => get('/v2/entities/x'),
    expects: /^404/,
  },
]

/** Requests that may be forwarded, and what is registered for them. */
export const forwardingDimensions: readonly Dimension[] = [...unusable, ...among, ...ofEveryId]
