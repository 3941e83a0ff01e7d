import { performance } from 'node:perf_hooks'
import { addressOf, Connection, Disconnected } from '../connection.js'
import { readDevice, updateDevice } from '../device.js'
import { refusalIn } from '../ngsi.js'
import { firstFresh, fresh, type Prepared, prepare } from '../request.js'
import { partitionOfDevice } from './nodes.js'

/** How often each probe asks, whether or not it was answered before. */
const interval_ms = 200

/** A broker answers after five seconds at the latest. */
const timeout_ms = 15_000

/** What a probe asks for: an update or a read of a device. */
export type ProbeKind = 'update' | 'read'

/** A client that asks one node for one thing again and again. */
class Probe {
  readonly kind: ProbeKind
  readonly #url: string
  readonly #request: Prepared
  readonly #free: Connection[] = []
  readonly #timer: NodeJS.Timeout
  #number = firstFresh
  #success_ms = performance.now()
  #longest_ms = 0
  #failures = 0
  #connections = new Set<Connection>()

  constructor(kind: ProbeKind, url: string, device: number) {
    this.kind = kind
    this.#url = url
    this.#request = prepare(kind === 'update' ? updateDevice(device, fresh) : readDevice(device), addressOf(url))
    this.#timer = setInterval(() => void this.#ask(), interval_ms)
  }

  /** The longest time without a success, up to now. */
  get longest_ms(): number {
    return Math.max(this.#longest_ms, this.sinceSuccess_ms)
  }

  get sinceSuccess_ms(): number {
    return performance.now() - this.#success_ms
  }

  get failures(): number {
    return this.#failures
  }

  /** What was until now does not count. */
  forget(): void {
    this.#longest_ms = 0
    this.#failures = 0
  }

  end(): void {
    clearInterval(this.#timer)
    for (const connection of this.#connections) connection.close()
  }

  async #ask(): Promise<void> {
    const connection = this.#free.pop() ?? new Connection(addressOf(this.#url), timeout_ms)
    this.#connections.add(connection)
    this.#number += 1
    try {
      const { status, text } = await connection.ask(this.#request(this.#number))
      if (status === 200 && refusalIn(text) === undefined) this.#succeeded()
      else this.#failures += 1
      this.#free.push(connection)
    } catch (fault) {
      if (!(fault instanceof Disconnected)) throw fault
      this.#failures += 1
      this.#connections.delete(connection)
    }
  }

  #succeeded(): void {
    const now_ms = performance.now()
    this.#longest_ms = Math.max(this.#longest_ms, now_ms - this.#success_ms)
    this.#success_ms = now_ms
  }
}

/** Clients of several nodes that update and read something of each partition. */
export class Probes {
  readonly #probes: readonly Probe[]

  /** Of devices that exist already, in this many partitions. */
  constructor(urls: readonly string[], partitions: number) {
    const devices = onePerPartition(partitions)
    this.#probes = urls.flatMap((url) =>
      devices.flatMap((device) => [new Probe('update', url, device), new Probe('read', url, device)]),
    )
  }

  /** The longest time in which a client had no success with any of its updates, or reads. */
  longest_ms(kind: ProbeKind): number {
    return Math.max(...this.#probes.filter((probe) => probe.kind === kind).map(({ longest_ms }) => longest_ms))
  }

  /** For how long the client that has waited longest is without a success now. */
  get waiting_ms(): number {
    return Math.max(...this.#probes.map(({ sinceSuccess_ms }) => sinceSuccess_ms))
  }

  /** How many requests were refused or had no answer. */
  failures(kind: ProbeKind): number {
    return this.#probes.filter((probe) => probe.kind === kind).reduce((sum, { failures }) => sum + failures, 0)
  }

  /** What was until now does not count. */
  forget(): void {
    for (const probe of this.#probes) probe.forget()
  }

  end(): void {
    for (const probe of this.#probes) probe.end()
  }
}

/** As many devices as probes need: some are in each partition. */
export const probedDevices = 200

function onePerPartition(partitions: number): readonly number[] {
  const found = new Map<number, number>()
  for (let number = 0; number < probedDevices; number += 1) {
    const partition = partitionOfDevice(number, partitions)
    if (!found.has(partition)) found.set(partition, number)
  }
  if (found.size < partitions)
    throw new Error(`the first ${probedDevices} devices are in ${found.size} partitions only`)
  return [...found.values()]
}
