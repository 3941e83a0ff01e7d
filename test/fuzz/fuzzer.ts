import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { addressOf, Connection } from '../../bench/connection.js'
import { member } from '../../bench/ngsi.js'
import { Mirror } from './mirror.js'
import { Random } from './random.js'
import { type FuzzRequest, type Known, requestIn } from './requests.js'
import { faultOf } from './responses.js'

/** So many requests are sent at least, on however slow a machine. */
const fewest = 60

export interface FuzzSettings {
  readonly url: string
  readonly seed: number
  readonly duration_ms: number
  /** Clients at a time, each with choices of its own. */
  readonly clients: number
  /** The longest that a response may take. */
  readonly bound_ms: number
}

export interface FuzzResult {
  readonly requests: number
  /** How many responses had which status. */
  readonly statuses: ReadonlyMap<number, number>
  readonly slowest_ms: number
  /** What was wrong, each with the client, the number of its request, the request and the response. */
  readonly findings: readonly string[]
}

/** Sends requests of the grammar for a while and looks at every response. */
export async function fuzz(settings: FuzzSettings): Promise<FuzzResult> {
  const far = await FarSide.listen()
  const run = new FuzzRun(settings, far.url)
  try {
    await Promise.all(Array.from({ length: settings.clients }, (_, client) => run.client(client)))
  } finally {
    far.close()
  }
  return run
}

class FuzzRun implements FuzzResult {
  readonly statuses = new Map<number, number>()
  readonly findings: string[] = []
  requests = 0
  slowest_ms = 0
  readonly #settings: FuzzSettings
  readonly #far: string
  readonly #until_ms: number

  constructor(settings: FuzzSettings, far: string) {
    this.#settings = settings
    this.#far = far
    this.#until_ms = performance.now() + settings.duration_ms
  }

  /** The first client also keeps a mirror of a few entities. */
  async client(client: number): Promise<void> {
    const { url, seed, bound_ms } = this.#settings
    const random = new Random(seed * 1000 + client)
    const known: Known = { subscriptions: [], registrations: [], availability: [], far: this.#far }
    const mirror = client === 0 ? new Mirror() : undefined
    const connection = new Connection(addressOf(url), 10 * bound_ms)
    for (let number = 0; performance.now() < this.#until_ms || this.requests < fewest; number += 1) {
      const step = mirror && random.once(2) ? mirror.step(random) : undefined
      const request = step?.request ?? requestIn(random, known)
      const where = `client ${client}, request ${number}`
      const response = await this.#ask(connection, request, where)
      if (response === undefined) break // Whether the broker lives is seen at the end.
      learn(known, request, response)
      const fault = step?.fault(response)
      if (fault !== undefined) this.#found(where, fault, request, JSON.stringify(response))
    }
    connection.close()
  }

  /** The response as JSON, `null` where it is none; nothing when there is no response. */
  async #ask(connection: Connection, request: FuzzRequest, where: string): Promise<unknown> {
    const began_ms = performance.now()
    try {
      const { status, text } = await connection.ask(writtenOut(request))
      const took_ms = performance.now() - began_ms
      this.requests += 1
      this.slowest_ms = Math.max(this.slowest_ms, took_ms)
      this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1)
      const fault = faultOf(request, status, text)
      if (fault !== undefined) this.#found(where, fault, request, text)
      if (took_ms > this.#settings.bound_ms) this.#found(where, `it took ${Math.round(took_ms)} ms`, request, text)
      return text.startsWith('{') && fault === undefined ? JSON.parse(text) : null
    } catch (fault) {
      this.#found(where, `no response: ${String(fault)}`, request, '')
      return undefined
    }
  }

  #found(where: string, fault: string, { verb, path, headers, body = '' }: FuzzRequest, response: string): void {
    const lines = [
      `${where}: ${fault}`,
      `${verb} ${path}`,
      ...headers,
      shortened(body),
      `response: ${shortened(response)}`,
    ]
    this.findings.push(lines.join('\n  '))
  }
}

function shortened(text: string): string {
  return text.length < 2000 ? text : `${text.slice(0, 2000)}… (${text.length} characters)`
}

function writtenOut({ verb, path, headers, body }: FuzzRequest): string {
  const length = body === undefined ? [] : [`Content-Length: ${Buffer.byteLength(body)}`]
  return `${[`${verb} ${path} HTTP/1.1`, 'Host: fuzz', ...headers, ...length].join('\r\n')}\r\n\r\n${body ?? ''}`
}

/** Remembers ids that a response names. */
function learn(known: Known, { path }: FuzzRequest, response: unknown): void {
  const subscription = member(member(response, 'subscribeResponse'), 'subscriptionId')
  const availability = member(response, 'subscriptionId')
  const registration = member(response, 'registrationId')
  if (typeof subscription === 'string') known.subscriptions.push(subscription)
  if (typeof availability === 'string' && path.includes('Availability')) known.availability.push(availability)
  if (typeof registration === 'string') known.registrations.push(registration)
}

/** A receiver and provider that takes whatever comes; as a provider it has nothing. */
class FarSide {
  readonly url: string
  readonly #server: Server

  private constructor(server: Server) {
    this.#server = server
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  }

  static async listen(): Promise<FarSide> {
    const server = createServer((request, response) => {
      request.on('error', () => {})
      request.resume().on('end', () => response.writeHead(200, { 'Content-Type': 'application/json' }).end('{}'))
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new FarSide(server)
  }

  close(): void {
    this.#server.closeAllConnections()
    this.#server.close()
  }
}
