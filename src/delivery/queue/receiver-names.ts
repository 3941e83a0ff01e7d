import { streamReference } from '../../model/subscription/targets.js'
import { urlWithoutSecrets } from '../../observe/log/secrets.js'
import type { Recipient } from './courier-protocol.js'
import { endpointName, mqttEndpoint } from './outgoing.js'

/** Names that were found once: receivers are asked for again and again. */
const names = new WeakMap<Recipient, string>()

/** A name of the receiver of a subscription that no other one has. */
export function receiverOf(recipient: Recipient): string {
  const known = names.get(recipient)
  if (known !== undefined) return known
  const name = nameOf(recipient)
  names.set(recipient, name)
  return name
}

/** The receiver of a subscription as operators see it, without secrets. */
export function shownReceiver({ reference: url, terms }: Recipient): string {
  if (url === streamReference) return url
  if (terms?.target.kind !== 'mqtt') return URL.canParse(url) ? new URL(url).origin : urlWithoutSecrets(url)
  const endpoint = mqttEndpoint({ url, user: undefined, password: undefined })
  const { user } = terms.target
  if (endpoint === undefined) return urlWithoutSecrets(url)
  return `mqtt://${user === undefined ? '' : `${user}@`}${endpoint.host}:${endpoint.port}`
}

/** Scheme, host and port, or the endpoint of an MQTT broker with its user. */
function nameOf({ reference: url, terms }: Recipient): string {
  if (terms?.target.kind === 'mqtt') {
    const { user, passwd: password } = terms.target
    const endpoint = mqttEndpoint({ url, user, password })
    return endpoint === undefined ? url : endpointName(endpoint)
  }
  return URL.canParse(url) && url !== streamReference ? new URL(url).origin : url
}
