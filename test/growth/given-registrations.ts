import { many, post, type Sent } from './given.js'

export const provider = '"providingApplication":"http://127.0.0.1:9/v1"'
const longId = (at: number): string => `${'lamp'.repeat(60)}${at}`
export const selector = (id: string): string => `{"id":"${id}","type":"T"}`
export const context = (entities: string, attributes: string): string =>
  `{"entities":[${entities}],"attributes":[${attributes}],${provider}}`
export const registering = (contexts: string): Sent =>
  post('/v1/registry/registerContext', `{"contextRegistrations":[${contexts}],"duration":"P1Y"}`)
export const ofLongIds = (size: number): Sent =>
  registering(
    context(
      many(size, (at) => selector(longId(at))),
      '{"name":"a"}',
    ),
  )
export const ofIds = (size: number): Sent =>
  registering(
    context(
      many(size, (at) => selector(`r${at}`)),
      '{"name":"a"}',
    ),
  )
/** Is found in none of the ids, of which the engine looks at each character. */
const tried = (at: number): string => `[a-p]+[x-z]${at}`
export const patterns = (size: number): string => many(size, (at) => `{"id":"${tried(at)}","isPattern":"true"}`)
export const hearing = (entities: string, path = 'subscribeContextAvailability'): Sent =>
  post(`/v1/registry/${path}`, `{"entities":[${entities}],"duration":"P1Y","reference":"http://127.0.0.1:9/n"}`)
export const everything = '{"id":".*","isPattern":"true"}'
