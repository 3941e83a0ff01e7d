import { setTimeout as sleep } from 'node:timers/promises'
import { CommandFailure } from '../../offline/command.js'
import { connectionFaultOf } from '../../offline/connection-fault.js'

/** A broker that is reached through its context interface. */
export interface BrokerAddress {
  /** The URL before the paths, for example `http://localhost:1026`; no slash at its end. */
  readonly url: string
  /** Sent as `X-Auth-Token` and as a bearer; undefined for none. */
  readonly token: string | undefined
  /** Ends requests and waits. */
  readonly interrupted?: AbortSignal
}

/** A request to the other broker. */
export interface BrokerRequest {
  readonly method: 'GET' | 'POST'
  /** Includes the query. */
  readonly path: string
  readonly tenant: string
  /** One or several service paths; undefined for none. */
  readonly servicePath: string | undefined
  readonly body?: unknown
}

export interface BrokerResponse {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

const never = new AbortController().signal

/** How often a request is repeated that the broker has no room for. */
const attempts = 20

/** The longest wait before a repetition, whatever the broker asks for. */
const longestWait_s = 30

/** How long a response may take. */
const limit_ms = 120_000

/**
 * Sends a request. One that is answered with 503 or 429 is repeated when the response says, a limited number of times. Throws
 * `CommandFailure` when the broker cannot be reached, or stays without room.
 */
export async function askBroker(broker: BrokerAddress, request: BrokerRequest): Promise<BrokerResponse> {
  const { url, token, interrupted = never } = broker
  const { method, path, tenant, servicePath, body } = request
  const address = new URL(`${url}${path}`)
  const headers: Record<string, string> = {
    accept: 'application/json',
    ...(tenant !== '' && { 'fiware-service': tenant }),
    ...(servicePath !== undefined && { 'fiware-servicepath': servicePath }),
    ...(token !== undefined && { 'x-auth-token': token, authorization: `Bearer ${token}` }),
    ...(body !== undefined && { 'content-type': 'application/json' }),
  }
  const text = body === undefined ? null : JSON.stringify(body)
  for (let attempt = 1; ; attempt += 1) {
    const response = await sentOnce(address, { method, headers, body: text }, interrupted)
    if (response.status !== 503 && response.status !== 429) return response
    if (attempt === attempts)
      throw new CommandFailure(`${url} has no room: ${response.status} ${response.text.slice(0, 200)}`)
    const retryAfter_s = Number(response.headers.get('retry-after') ?? Number.NaN)
    const wait_s = Math.min(longestWait_s, retryAfter_s > 0 ? retryAfter_s : Math.min(5, 0.2 * attempt))
    await sleep(1000 * wait_s, undefined, { signal: interrupted })
  }
}

async function sentOnce(
  address: URL,
  request: { readonly method: string; readonly headers: Record<string, string>; readonly body: string | null },
  interrupted: AbortSignal,
): Promise<BrokerResponse> {
  const signal = AbortSignal.any([AbortSignal.timeout(limit_ms), interrupted])
  try {
    const response = await fetch(address, { ...request, redirect: 'error', signal })
    return { status: response.status, headers: response.headers, text: await response.text() }
  } catch (fault) {
    const { kind, text } = await connectionFaultOf(address, fault)
    const advice = kind === 'trust' ? ': NODE_EXTRA_CA_CERTS names the file with the certificate to trust' : ''
    throw new CommandFailure(`${address.origin} cannot be reached: ${text}${advice}`)
  }
}
