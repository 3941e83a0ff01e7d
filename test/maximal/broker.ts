import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { request } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import type { Test } from 'tap'
import { RunningBroker } from '../running.js'

/** What a thread was held by since it was asked the last time, in ms. */
export interface Held {
  readonly thread: number
  readonly hold_ms: number
  readonly collection_ms: number
}

export interface Sent {
  readonly verb: string
  readonly path: string
  readonly body?: string | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
}

export interface Answered {
  readonly status: number
  readonly text: string
}

/** A broker whose threads say how long they were held. */
export class MeasuredBroker {
  readonly broker: RunningBroker
  readonly #folder: string

  static async start(t: Test, folder: string, flags: readonly string[]): Promise<MeasuredBroker> {
    const probe = new URL('./probe.js', import.meta.url).href
    const broker = await RunningBroker.start(t, flags, {
      nodeOptions: ['--import', probe],
      environment: { RIGEL_PROBE: folder },
    })
    return new MeasuredBroker(broker, folder)
  }

  private constructor(broker: RunningBroker, folder: string) {
    this.broker = broker
    this.#folder = folder
  }

  /** How long each thread was held since it was asked the last time; the main thread is the first. */
  async held(): Promise<readonly Held[]> {
    const names = readdirSync(this.#folder).sort((one, other) => Number(one) - Number(other))
    const told = await Promise.all(names.map((name) => askThread(join(this.#folder, name))))
    return told.filter((held) => held !== undefined)
  }

  async send({ verb, path, body, headers = {} }: Sent): Promise<Answered> {
    const ofBody =
      body === undefined ? {} : { 'Content-Type': 'application/json', 'Content-Length': `${Buffer.byteLength(body)}` }
    const sent = request(`${this.broker.url}${path}`, {
      method: verb,
      headers: { ...ofBody, ...headers },
      agent: false,
    })
    sent.end(body)
    const [response] = await once(sent, 'response')
    const pieces: Buffer[] = []
    response.on('data', (piece: Buffer) => pieces.push(piece))
    await once(response, 'end')
    return { status: response.statusCode, text: Buffer.concat(pieces).toString() }
  }
}

async function askThread(path: string): Promise<Held | undefined> {
  const socket = connect(path)
  const pieces: Buffer[] = []
  socket.on('data', (piece: Buffer) => pieces.push(piece))
  try {
    await once(socket, 'close')
  } catch {
    return undefined // The thread has ended.
  }
  const held: Held = JSON.parse(Buffer.concat(pieces).toString())
  return held
}
