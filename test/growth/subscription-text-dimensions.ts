import { asJson, type Dimension, ofRuns, type Place } from './dimension.js'
import { condition, post } from './given.js'

const url = '"url":"http://127.0.0.1:9/n"'
const subject = '"subject":{"entities":[{"id":"One"}]}'
const one = '{"id":"One","type":"T"}'
const madeOrRejected = /^(201|204|400|413|503)/

const custom = (name: string): Place => ({
  name: `${name} of a subscription`,
  most: 60_000,
  written: asJson,
  sent: (text) => post('/v2/subscriptions', `{${subject},"notification":{"httpCustom":{${url},"${name}":"${text}"}}}`),
  expects: madeOrRejected,
})

const texts: readonly Place[] = [
  custom('payload'),
  {
    name: 'a url of a subscription',
    most: 60_000,
    written: asJson,
    sent: (text) =>
      post('/v2/subscriptions', `{${subject},"notification":{"http":{"url":"http://127.0.0.1:9/${text}"}}}`),
    expects: madeOrRejected,
  },
  {
    name: 'a description of a subscription',
    most: 60_000,
    written: asJson,
    sent: (text) => post('/v2/subscriptions', `{"description":"${text}",${subject},"notification":{"http":{${url}}}}`),
    expects: madeOrRejected,
  },
  {
    name: 'a jexlExpression of a subscription',
    most: 60_000,
    written: asJson,
    sent: (text) => {
      const filtered = `"subject":{"entities":[${one}],"condition":{"jexlExpression":"a${text}"}}`
      return post('/v2/subscriptions', `{${filtered},"notification":{"http":{${url}}}}`)
    },
    expects: madeOrRejected,
  },
  {
    name: 'an expression of a subscription',
    most: 60_000,
    written: asJson,
    sent: (text) =>
      post('/v2/subscriptions', `{${subject},"notification":{"httpCustom":{${url},"payload":"\${${text}}"}}}`),
    expects: madeOrRejected,
  },
  {
    name: 'a duration of subscribeContext',
    most: 1_000_000,
    written: asJson,
    sent: (text) =>
      post(
        '/v1/subscribeContext',
        `{"entities":[${one}],"reference":"http://127.0.0.1:9/n","duration":"P1${text}","notifyConditions":[${condition(1)}]}`,
      ),
    expects: /"code":"400"/,
  },
  {
    name: 'a reference of subscribeContext',
    most: 1_000_000,
    written: asJson,
    sent: (text) =>
      post(
        '/v1/subscribeContext',
        `{"entities":[${one}],"reference":"http://127.0.0.1:9/${text}","duration":"P1Y","notifyConditions":[${condition(1)}]}`,
      ),
    expects: /"code":"(400|503)"|subscribeResponse/,
  },
]

/** The texts that a subscription of either interface has. */
export const subscriptionTexts: readonly Dimension[] = texts.flatMap(ofRuns)
