import { once } from 'node:events'
import { Agent, createServer, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { Test } from 'tap'
import { RunningBroker, type Surroundings, tick_ms } from '../running.js'
import { until } from '../until.js'
import { adding, madeId, post, type Sent } from './given.js'

export interface Response {
  readonly status: number
  readonly text: string
  /** Of the subscription or registration that it made. */
  readonly id?: string | undefined
}

/** What a request took, and those that came meanwhile. */
export interface Measured extends Response {
  /** Of all processors that the broker used, where the system tells, else of the clock. */
  readonly work_ms: number
  /** The longest that another client had to wait; unless the machine is quiet, as far as the broker worked meanwhile: not for a disk, nor for other programs. */
  readonly wait_ms: number
}

/** Between two requests of a client that only watches. */
const pause_ms = 4

/** A broker of one partition and one HTTP thread, which everybody shares, with others who watch how long they wait. */
export class GrownBroker {
  readonly #broker: RunningBroker
  readonly #isQuiet: boolean
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 16 })
  readonly #watchers = new Agent({ keepAlive: true })
  readonly #receiver: Server
  /** The last notification of others. */
  #heard = ''
  #tenants = 0
  #told = 0

  /** On a quiet machine nobody but the broker has others wait. */
  static async start(t: Test, isQuiet: boolean, around: Surroundings = {}): Promise<GrownBroker> {
    const shared = ['-partitions', '1', '-httpThreads', '1']
    const flags = [...shared, '-multiservice', '-logLevel', 'ERROR', '-subscriptionsMax', '1000000']
    const broker = new GrownBroker(await RunningBroker.start(t, flags, around), isQuiet)
    t.teardown(() => broker.#end())
    await broker.#send(others, adding('{"id":"Bystander","type":"B","attributes":[{"name":"a","value":"1"}]}'))
    await once(broker.#receiver.listen(0, '127.0.0.1'), 'listening')
    const { port } = broker.#receiver.address() as AddressInfo
    const toReceiver = `{"http":{"url":"http://127.0.0.1:${port}/"},"attrsFormat":"keyValues"}`
    const hearing = `{"subject":{"entities":[{"id":"Told"}]},"notification":${toReceiver}}`
    await broker.#send(others, post('/v2/subscriptions', hearing))
    return broker
  }

  private constructor(broker: RunningBroker, isQuiet: boolean) {
    this.#broker = broker
    this.#isQuiet = isQuiet
    this.#receiver = createServer(async (notification, response) => {
      const pieces: Buffer[] = []
      for await (const piece of notification) pieces.push(piece)
      response.end()
      this.#heard = Buffer.concat(pieces).toString()
    })
  }

  /** Sends a request to a tenant that has nothing but what is sent before, while others watch. */
  async measure(before: readonly Sent[], sent: Sent): Promise<Measured> {
    this.#tenants += 1
    const tenant = `grown_${this.#tenants}`
    let id = ''
    const subscriptions: string[] = []
    for (const each of before) {
      const made = await this.#send(tenant, of(id, each))
      if (made.status >= 400) throw new Error(`${each.verb} ${each.path}: ${made.text.slice(0, 200)}`)
      id = made.id ?? id
      if (made.id !== undefined && each.path === subscriptionsPath) subscriptions.push(made.id)
    }
    await this.#broker.becomesIdle()
    const began_ms = this.#broker.worked_ms
    const watch = { isOver: false }
    const each = (sent: Sent) => () => this.#send(others, sent, this.#watchers)
    const watched = [each(version), each(query), each(update), () => this.#notification()]
    const waits = watched.map((doing) => this.#watched(watch, doing))
    await delay(2 * pause_ms)
    const response = await this.#send(tenant, of(id, sent))
    watch.isOver = true
    const wait_ms = Math.max(...(await Promise.all(waits)))
    const worked_ms = this.#broker.worked_ms
    // Their notifications have no receiver: trying again to send them would be work of what is measured next.
    await Promise.all(
      subscriptions.map((made) => this.#send(tenant, { verb: 'DELETE', path: `${subscriptionsPath}/${made}` })),
    )
    return { ...response, work_ms: worked_ms - began_ms, wait_ms }
  }

  /** What a client waits for the least that it can ask for, on this machine, now. */
  async bare(): Promise<number> {
    const took: number[] = []
    for (let requests = 0; requests < 20; requests += 1)
      took.push(await this.#timed(() => this.#send(others, version, this.#watchers)))
    return took.sort((one, other) => one - other)[took.length >> 1] ?? 0
  }

  /** At least once whole behind the end of what is watched: notifications are sent after the response. */
  async #watched(watch: { readonly isOver: boolean }, doing: () => Promise<unknown>): Promise<number> {
    let longest_ms = 0
    while (!watch.isOver) {
      longest_ms = Math.max(longest_ms, await this.#timed(doing))
      await delay(pause_ms)
    }
    return Math.max(longest_ms, await this.#timed(doing))
  }

  async #timed(doing: () => Promise<unknown>): Promise<number> {
    const [began, began_ms] = [performance.now(), this.#broker.worked_ms]
    await doing()
    const waited_ms = performance.now() - began
    return this.#isQuiet ? waited_ms : Math.min(waited_ms, this.#broker.worked_ms - began_ms + tick_ms)
  }

  /** An update, and the notification of it. */
  async #notification(): Promise<void> {
    this.#told += 1
    const value = `told ${this.#told}.`
    await this.#send(
      others,
      adding(`{"id":"Told","type":"T","attributes":[{"name":"a","value":"${value}"}]}`),
      this.#watchers,
    )
    await until(() => this.#heard.includes(value), 'the notification of others')
  }

  async #send(tenant: string, { verb, path, body, headers: own = {} }: Sent, agent = this.#agent): Promise<Response> {
    const ofBody =
      body === undefined ? {} : { 'Content-Type': 'application/json', 'Content-Length': `${Buffer.byteLength(body)}` }
    const headers = { ...ofBody, 'Fiware-Service': tenant, ...own }
    // What a header has can come back in a response, which Node reads up to 16 KiB of.
    const options = { method: verb, headers, agent, maxHeaderSize: 2 ** 17 }
    const outgoing = request(`${this.#broker.url}${path}`, options)
    outgoing.end(body)
    const [response] = await once(outgoing, 'response')
    const pieces: Buffer[] = []
    response.on('data', (piece: Buffer) => pieces.push(piece))
    await once(response, 'end')
    const text = Buffer.concat(pieces).toString()
    const [id] =
      /(?<=subscriptions\/|registrations\/|(?:subscription|registration)Id": ?")[\da-f]{24}/.exec(
        `${response.headers.location} ${text.slice(0, 1000)}`,
      ) ?? []
    return { status: response.statusCode, text, id }
  }

  #end(): void {
    this.#agent.destroy()
    this.#watchers.destroy()
    this.#receiver.close()
    this.#receiver.closeAllConnections()
  }
}

/** A request about what was made last. */
function of(id: string, { path, body, ...rest }: Sent): Sent {
  const meant = { ...rest, path: path.replaceAll(madeId, id) }
  return body === undefined ? meant : { ...meant, body: body.replaceAll(madeId, id) }
}

const others = 'bystanders'
const subscriptionsPath = '/v2/subscriptions'
const version: Sent = { verb: 'GET', path: '/version' }
const query: Sent = { verb: 'GET', path: '/v2/entities?type=B&q=a==%271%27' }
const update: Sent = {
  verb: 'POST',
  path: '/v1/updateContext',
  body: '{"updateAction":"UPDATE","contextElements":[{"id":"Bystander","type":"B","attributes":[{"name":"a","value":"1"}]}]}',
}
