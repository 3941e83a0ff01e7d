import { setTimeout as delay } from 'node:timers/promises'
import { addressOf, Connection, Disconnected } from '../../bench/connection.js'
import { items, member } from '../../bench/ngsi.js'
import { type Request, written } from '../../bench/request.js'
import type { ReceivedResponse } from '../../bench/response-reader.js'
import type { History, Interval, Result } from './history.js'

/** The broker as the clients see it: it goes away and comes back. */
export interface Target {
  readonly url: string
  /** Whether clients end. */
  readonly isOver: boolean
  /** How often the process was started again. */
  readonly restarts: number
  /** Resolves when the process that is meant to run answers. */
  up(): Promise<void>
}

/** A response, or none because the connection was lost. */
export interface Attempt extends Interval {
  readonly response: ReceivedResponse | undefined
  /** Whether the process to which the request went is gone for good, so that it has no effect any more. */
  readonly restarted: boolean
}

/** Longer than any pause that a test makes: no client gives up a request that may yet be carried out. */
const patience_ms = 60_000

/** How long a client waits after a response that is no success. */
const pause_ms = 20

/** One client with a connection of its own, which sends one request after the other and keeps the times. */
export class Client {
  readonly target: Target
  readonly #history: History
  readonly #connection: Connection

  constructor(target: Target, history: History) {
    this.target = target
    this.#history = history
    this.#connection = new Connection(addressOf(target.url), patience_ms)
  }

  close(): void {
    this.#connection.close()
  }

  async send(request: Request): Promise<Attempt> {
    const { restarts } = this.target
    const text = written(request, addressOf(this.target.url))
    const start_ms = performance.now()
    const response = await this.#responseTo(text)
    const end_ms = performance.now()
    if (response?.status !== 200) await delay(pause_ms)
    await this.target.up()
    return { response, start_ms, end_ms, restarted: this.target.restarts > restarts }
  }

  async #responseTo(text: string): Promise<ReceivedResponse | undefined> {
    try {
      return await this.#connection.ask(text)
    } catch (fault) {
      if (!(fault instanceof Disconnected)) this.#history.faults.push(String(fault))
      else if (fault.timedOut) this.#history.faults.push(`a request had no response within ${patience_ms} ms`)
      return undefined
    }
  }

  /** The JSON of a response with status 200; nothing of any other. */
  json(response: ReceivedResponse | undefined): unknown {
    if (response?.status !== 200) return undefined
    try {
      return JSON.parse(response.text)
    } catch {
      this.#history.faults.push(`a response is no JSON: ${response.text.slice(0, 200)}`)
      return undefined
    }
  }
}

/** What became of each element of an update, in their order. */
export function resultsOf(client: Client, { response }: Attempt, elements: number): readonly Result[] {
  const all = (result: Result): readonly Result[] => Array.from({ length: elements }, () => result)
  if (!response) return all('unknown')
  if (response.status !== 200) return all(isUndecided(response) ? 'unknown' : 'refused')
  const responses = items(member(client.json(response), 'contextResponses'))
  return responses.length === elements ? responses.map(resultOf) : all('refused')
}

/** These responses say that the broker does not know whether the update was carried out. */
function isUndecided({ status, text }: ReceivedResponse): boolean {
  return status === 500 || mayBeDone(text)
}

function mayBeDone(text: string): boolean {
  return text.includes('may have been carried out')
}

function resultOf(response: unknown): Result {
  const status = member(response, 'statusCode')
  if (member(status, 'code') === '200') return 'acknowledged'
  return mayBeDone(String(member(status, 'details'))) ? 'unknown' : 'refused'
}
