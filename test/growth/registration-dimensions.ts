import { type Dimension, ofList } from './dimension.js'
import { get, many, numbered, post, type Sent, short } from './given.js'
import {
  context,
  everything,
  hearing,
  ofIds,
  ofLongIds,
  patterns,
  provider,
  registering,
  selector,
} from './given-registrations.js'

const registered = /registrationId/

const registering2 = (entities: string, attrs: string): Sent =>
  post(
    '/v2/registrations',
    `{"dataProvided":{"entities":[${entities}],"attrs":[${attrs}]},"provider":{"http":{"url":"http://127.0.0.1:9/v2"}}}`,
  )
/** Every id of each of so many types. */
const ofEveryId = (size: number): Sent =>
  registering2(
    many(size, (at) => `{"idPattern":".*","type":"t${at}"}`),
    '"a"',
  )

/** Tells of contexts, as the subscription of another registry does. */
const telling = (contexts: readonly string[]): Sent => {
  const responses = contexts.map((each) => `{"contextRegistration":${each}}`).join()
  return post(
    '/v1/registry/notifyContextAvailability',
    `{"subscriptionId":"5718a2f1c0de000000000000","contextRegistrationResponses":[${responses}]}`,
  )
}
const toldOf = (at: number): string => context(selector(`q${at}`), '{"name":"a"}')

const registrations: readonly Dimension[] = [
  ofList({
    name: 'entities in registerContext',
    limit: 5000,
    item: (at) => selector(`r${at}`),
    sent: (all) => registering(context(all, '{"name":"a"}')),
    expects: registered,
  }),
  ofList({
    name: 'attributes in registerContext',
    limit: 5000,
    item: (at) => `{"name":"${short(at)}"}`,
    sent: (all) => registering(context(selector('r'), all)),
    expects: registered,
  }),
  {
    name: 'entities times attributes in registerContext',
    most: 70,
    sent: (size) =>
      registering(
        context(
          many(size, (at) => selector(`r${at}`)),
          many(size, (at) => `{"name":"${short(at)}"}`),
        ),
      ),
    expects: registered,
  },
  ofList({
    name: 'contexts in registerContext',
    limit: 2000,
    item: (at) => context(selector(`r${at}`), '{"name":"b"}'),
    sent: registering,
    expects: registered,
  }),
  ofList({
    name: 'entities beyond the limit in registerContext',
    item: (at) => selector(short(at)),
    sent: (all) => registering(context(all, '{"name":"a"}')),
    expects: /"code":"400"/,
  }),
  { name: 'long ids in registerContext', most: 3000, sent: ofLongIds, expects: registered },
  {
    name: 'long ids in a registration that a subscription with patterns hears of',
    most: 3000,
    before: () => [hearing(patterns(400))],
    sent: ofLongIds,
    expects: /"duration":"P1Y"/,
  },
  {
    name: 'entities in a registration that ten subscriptions hear of',
    most: 5000,
    before: () => numbered(10).map(() => hearing(everything)),
    sent: ofIds,
    expects: registered,
  },
  {
    name: 'subscriptions that hear of a registration',
    most: 200,
    before: (size) => numbered(size).map(() => hearing(everything)),
    sent: () => ofIds(100),
    expects: registered,
  },
  {
    name: 'ids of a subscription that hears of as many types of every id',
    most: 1000,
    before: (size) => [hearing(many(size, (at) => `{"id":"r${at}"}`))],
    sent: ofEveryId,
    expects: /^201/,
  },
  {
    name: 'types of every id that are registered again, of which a subscription to as many ids hears',
    most: 1000,
    before: (size) => [hearing(many(size, (at) => `{"id":"r${at}"}`)), ofEveryId(size)],
    sent: ofEveryId,
    expects: /^201/,
  },
  ofList({
    name: 'attributes in a registration by its path',
    limit: 5000,
    item: (at) => `{"name":"${short(at)}"}`,
    sent: (all) => post('/v1/registry/contextEntities/r', `{"attributes":[${all}],"duration":"P1Y",${provider}}`),
    expects: /registrationId|"code":"400"/,
  }),
  ofList({
    name: 'entities in notifyContextAvailability',
    limit: 5000,
    item: (at) => selector(`q${at}`),
    sent: (all) => telling([context(all, '{"name":"a"}')]),
    expects: /"code":"/,
  }),
  {
    name: 'contexts in notifyContextAvailability that came one by one before',
    most: 1000,
    before: (size) => numbered(size).map((at) => telling([toldOf(at)])),
    sent: (size) => telling(numbered(size).map(toldOf)),
    expects: /"code":"200"/,
  },
  {
    name: 'copies that lose a context by notifyContextAvailability of 5000',
    most: 200,
    before: (size) => numbered(size).map((at) => telling([toldOf(at)])),
    sent: () => telling(numbered(5000).map(toldOf)),
    expects: /"code":"200"/,
    // Compared with each copy by itself they take 2 s.
    work_ms: 800,
  },
]

const registrations2: readonly Dimension[] = [
  ofList({
    name: 'entities in POST of a registration',
    limit: 5000,
    item: (at) => selector(`w${at}`),
    sent: (all) => registering2(all, '"a"'),
    expects: /^201/,
  }),
  ofList({
    name: 'attrs in POST of a registration',
    limit: 5000,
    item: (at) => `"${short(at)}"`,
    sent: (all) => registering2(selector('w'), all),
    expects: /^201/,
  }),
  ofList({
    name: 'entities beyond the limit in POST of a registration',
    item: () => '{"id":"w"}',
    sent: (all) => registering2(all, '"a"'),
    expects: /^400/,
  }),
  ofList({
    name: 'patterns in POST of a registration',
    limit: 5000,
    item: (at) => `{"idPattern":"(a|b${at}){90}"}`,
    sent: (all) => registering2(all, '"a"'),
    expects: /Invalid regex|takes too long/,
  }),
  {
    name: 'registrations of every id beside one',
    most: 100,
    before: (size) => numbered(size).map(() => registering2('{"idPattern":".*"}', '')),
    sent: () => registering2('{"idPattern":".*"}', ''),
    expects: /^201/,
  },
  {
    name: 'entities in GET of a registration',
    most: 5000,
    before: (size) => [
      registering2(
        many(size, (at) => selector(`w${at}`)),
        '"a"',
      ),
    ],
    sent: () => get('/v2/registrations/<id>'),
    expects: /^200/,
  },
  {
    name: 'contexts in GET of registrations',
    most: 1000,
    before: (size) => [registering(many(size, (at) => context(selector(`r${at}`), '{"name":"b"}')))],
    sent: () => get('/v2/registrations?limit=1000&options=count'),
    expects: /^200 \[\{/,
  },
  {
    name: 'entities in DELETE of a registration',
    most: 5000,
    before: (size) => [
      registering2(
        many(size, (at) => selector(`w${at}`)),
        '"a"',
      ),
    ],
    sent: () => ({ verb: 'DELETE', path: '/v2/registrations/<id>' }),
    expects: /^204/,
  },
]

/** Registrations of both interfaces, and the notifications that they cause. */
export const registrationDimensions: readonly Dimension[] = [...registrations, ...registrations2]
