import { request } from 'node:http'
import type { Test } from 'tap'
import type { Reply, RunningBroker } from '../running.js'

type Fields = Readonly<Record<string, string>>

/** Who asks a running broker within one tenant, so that tests that share a broker do not meet. */
export class Client {
  readonly #broker: RunningBroker
  readonly #headers: Record<string, string>

  constructor(broker: RunningBroker, tenant: string, headers: Fields = {}) {
    this.#broker = broker
    this.#headers = { ...(tenant === '' ? {} : { 'Fiware-Service': tenant }), ...headers }
  }

  send(verb: string, path: string, body?: unknown, headers: Fields = {}): Promise<Reply> {
    return this.#broker.send(verb, path, body, { ...this.#headers, ...headers })
  }

  /** The HTTP status and the body of a response. */
  async request(verb: string, path: string, body?: unknown, headers: Fields = {}): Promise<readonly [number, unknown]> {
    const { status, json } = await this.send(verb, path, body, headers)
    return [status, json]
  }

  /** The response to an updateContext, which is always one of HTTP status 200. */
  async update(action: string, elements: readonly unknown[], search = '', headers: Fields = {}): Promise<unknown> {
    const body = { contextElements: elements, updateAction: action }
    const { status, json } = await this.send('POST', `/v1/updateContext${search}`, body, headers)
    if (status !== 200) throw new Error(`an update was answered with ${status}`)
    return json
  }

  /** Makes entities, one after another; throws when one is refused. */
  async given(...elements: readonly unknown[]): Promise<void> {
    const response = await this.update('APPEND', elements)
    const codes = JSON.stringify(response).match(/"code":"\d+"/g) ?? []
    if (codes.length === 0 || codes.some((code) => code !== '"code":"200"')) {
      throw new Error(`entities were refused: ${JSON.stringify(response)}`)
    }
  }

  /** The same, in a service path. */
  async givenIn(path: string, ...elements: readonly unknown[]): Promise<void> {
    const response = await this.update('APPEND', elements, '', { 'Fiware-ServicePath': path })
    if (!JSON.stringify(response).includes('"code":"200"')) throw new Error(`refused: ${JSON.stringify(response)}`)
  }

  /** The response to a queryContext, which is always one of HTTP status 200. */
  async query(body: unknown, search = '', headers: Fields = {}): Promise<unknown> {
    const { status, json } = await this.send('POST', `/v1/queryContext${search}`, body, headers)
    if (status !== 200) throw new Error(`a query was answered with ${status}`)
    return json
  }

  /** The ids of the entities that a query finds, in their order; the error as it came if there is one. */
  async ids(body: unknown, search = '', headers: Fields = {}): Promise<unknown> {
    const response = await this.query(body, search, headers)
    if (!isFound(response)) return response
    return response.contextResponses.map(({ contextElement }) => contextElement.id)
  }

  /** The entities of an id with what they hold. */
  async held(id: string, headers: Fields = {}): Promise<unknown> {
    const response = await this.query({ entities: [{ id }] }, '', headers)
    return isFound(response) ? response.contextResponses.map(({ contextElement }) => contextElement) : response
  }
}

interface Found {
  readonly contextResponses: readonly { readonly contextElement: { readonly id: string } }[]
}

function isFound(response: unknown): response is Found {
  return typeof response === 'object' && response !== null && 'contextResponses' in response
}

let tenants = 0

/** A client in a tenant that nobody else uses. */
export function tenantClient(broker: RunningBroker, headers: Fields = {}): Client {
  tenants += 1
  return new Client(broker, `t${tenants}`, headers)
}

const phrases: Readonly<Record<number, string>> = {
  200: 'OK',
  400: 'Bad Request',
  404: 'No context element found',
  405: 'Method Not Allowed',
  406: 'Not Acceptable',
  411: 'Content Length Required',
  413: 'Request Entity Too Large',
  415: 'Unsupported Media Type',
  422: 'Invalid Modification',
  472: 'request parameter is invalid/not allowed',
  500: 'Internal Server Error',
  501: 'Not Implemented',
}

/** A status object. */
export function status(code: number, details?: string) {
  return { code: String(code), reasonPhrase: phrases[code], ...(details === undefined ? {} : { details }) }
}

export const ok = status(200)

/** Why an action was refused: the attribute, and what is wrong with it. */
export function offending(action: string, entity: string, what: string, code = 472) {
  return status(code, `action: ${action} - entity: ${entity} - offending attribute: ${what}`)
}

export function errorCode(code: number, details?: string) {
  return { errorCode: status(code, details) }
}

export function statusCode(code: number, details?: string) {
  return { statusCode: status(code, details) }
}

export function orionError(code: number, details?: string) {
  return { orionError: status(code, details) }
}

/** A context element as responses show it. */
export function shown(id: string, type: string, ...attributes: readonly unknown[]) {
  return { type, isPattern: 'false', id, ...(attributes.length === 0 ? {} : { attributes }) }
}

/** An item of contextResponses. */
export function item(contextElement: unknown, itemStatus: unknown = ok) {
  return { contextElement, statusCode: itemStatus }
}

export function responses(...items: readonly unknown[]) {
  return { contextResponses: items }
}

/** An attribute, as a request gives it and as a read shows it. */
export function attribute(name: string, type: string, value: unknown, ...metadatas: readonly unknown[]) {
  return { name, type, value, ...(metadatas.length === 0 ? {} : { metadatas }) }
}

/** An attribute as the response to an update shows it. */
export function echo(name: string, type: string, ...metadatas: readonly unknown[]) {
  return attribute(name, type, '', ...metadatas)
}

export function metadata(name: string, type: string, value: unknown) {
  return { name, type, value }
}

export function ID(value: string) {
  return metadata('ID', 'string', value)
}

export const WGS84 = metadata('location', 'string', 'WGS84')

/** A request that fetch would not send: any header or none, and a body with any verb. */
export function raw(
  broker: RunningBroker,
  verb: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body: string | Uint8Array = '',
): Promise<readonly [number, unknown]> {
  return new Promise((resolve, reject) => {
    const length = body === '' || 'Transfer-Encoding' in headers ? {} : { 'Content-Length': Buffer.byteLength(body) }
    const options = { method: verb, path, port: broker.port, headers: { ...headers, ...length }, agent: false }
    const sent = request({ host: '127.0.0.1', ...options }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString()
        resolve([response.statusCode ?? 0, text === '' ? undefined : JSON.parse(text)])
      })
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

/** One request and its full response; the name is the rule. */
export type Row = readonly [
  rule: string,
  verb: string,
  path: string,
  body: unknown,
  httpStatus: number,
  response: unknown,
  headers?: Fields,
]

/** Sends each row's request, one after another, and compares the whole response. */
export async function holds(t: Test, client: Client, rows: readonly Row[]): Promise<void> {
  for (const [rule, verb, path, body, httpStatus, response, headers] of rows) {
    t.strictSame(await client.request(verb, path, body, headers), [httpStatus, response], rule)
  }
}
