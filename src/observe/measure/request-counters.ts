import type { Switches } from '../../threads/shared-memory/switches.js'
import type { Nanoseconds } from '../../time.js'
import { type Countable, consoleRoute, type Routes, verbIndex } from './counted-routes.js'
import { counterColumn, type RequestCountTable } from './counters.js'
import type { FigureTable, RowOf } from './figure-table.js'
import type { frontEndFigures } from './figures.js'
import {
  type CompletedRequest,
  type Payload,
  type Rejection,
  type StageSums,
  type TimingStage,
  timingStages,
} from './requests.js'
import type { RouteTable } from './route-table.js'
import type { ServiceMetrics } from './service-metrics.js'
import type { SlowRequest, SlowRequests } from './slow-requests.js'
import type { TimingTable } from './timing-table.js'

const payloadColumns: Readonly<Record<Payload, number>> = {
  json: counterColumn('jsonRequests'),
  text: counterColumn('textRequests'),
  none: counterColumn('noPayloadRequests'),
}
const invalidRequests = counterColumn('invalidRequests')
const missedVerb = counterColumn('missedVerb')

/** The tables in which one front end counts. */
interface RequestTables {
  readonly counts: RequestCountTable
  readonly traffic: RouteTable
  readonly frontEnds: FigureTable<typeof frontEndFigures.all>
  readonly timing: TimingTable
  readonly services: ServiceMetrics
  readonly slow: SlowRequests
  readonly switches: Switches
}

/** Counts the requests of one front end in its own row. */
export class RequestCounters {
  readonly #tables: RequestTables
  readonly #routes: Routes
  readonly #row: number
  readonly #counters = new Map<Countable, number>()
  readonly #figures: RowOf<typeof frontEndFigures>
  /** The setters of gauges that change with each request. */
  readonly #show: Readonly<
    Record<'connections' | 'inFlight' | `permits${'Free' | 'Taken' | 'Queued'}`, (value: number) => void>
  >
  #connections = 0
  #inFlight = 0

  constructor(tables: RequestTables, row: number, routes: Routes, resources: readonly Countable[]) {
    this.#tables = tables
    this.#routes = routes
    this.#row = row
    for (const resource of resources) {
      if (resource.counter !== undefined) this.#counters.set(resource, counterColumn(resource.counter))
    }
    const figures = tables.frontEnds.row(row)
    this.#figures = figures
    this.#show = {
      connections: figures.setter('connections'),
      inFlight: figures.setter('inFlight'),
      permitsFree: figures.setter('permits.free'),
      permitsTaken: figures.setter('permits.taken'),
      permitsQueued: figures.setter('permitsQueued'),
    }
    // A replaced thread may have left its state behind.
    for (const set of Object.values(this.#show)) set(0)
    figures.put('queriesWaiting', 0)
    figures.put('queriesRunning', 0)
    figures.put('permitsLent', 0)
  }

  get timingOn(): boolean {
    return this.#tables.switches.get('statTiming') !== 0
  }

  /**
   * The operation is known and its payload has passed its checks; `resource` is undefined for an unknown path [management 4.3].
   */
  counted(resource: Countable | undefined, verb: string, payload: Payload, wrongVerb: boolean): void {
    if (resource?.polled === true) return
    const { counts } = this.#tables
    counts.add(this.#row, payloadColumns[payload])
    if (resource === undefined) {
      counts.add(this.#row, invalidRequests)
      return
    }
    const counter = this.#counters.get(resource)
    if (counter !== undefined) counts.add(this.#row, counter)
    const column = wrongVerb ? missedVerb : counts.requestColumn(this.#routes.indexOf(resource), verbIndex(verb))
    counts.add(this.#row, column)
  }

  /** A response is about to be written [management 6.2, 7]. */
  responded(request: CompletedRequest): void {
    const { resource, verb, status, request_bytes, response_bytes, duration, errors } = request
    const { traffic, services, switches } = this.#tables
    const route = this.#routes.indexOf(resource)
    traffic.responded(this.#row, route, verbIndex(verb), status, duration)
    traffic.sized(this.#row, route, request_bytes, response_bytes)
    if (errors !== undefined) {
      for (const code of errors) traffic.failed(this.#row, route, verbIndex(verb), code)
      if (resource !== consoleRoute) this.#figures.add('failures', errors.length)
    }
    if (switches.get('disableMetrics') === 0) services.record(request)
  }

  /** A request took longer than the threshold for slow ones. */
  slow(request: SlowRequest): void {
    this.#tables.slow.add(request)
  }

  /** A request was turned away before its operation. */
  rejected(reason: Rejection): void {
    this.#figures.add(`rejected.${reason}`)
  }

  connectionOpened(): void {
    this.#connections += 1
    this.#show.connections(this.#connections)
  }

  connectionClosed(): void {
    this.#connections -= 1
    this.#show.connections(this.#connections)
  }

  requestBegun(): void {
    this.#inFlight += 1
    this.#show.inFlight(this.#inFlight)
  }

  requestEnded(): void {
    this.#inFlight -= 1
    this.#show.inFlight(this.#inFlight)
  }

  /** The state of this front end's share of the request semaphore. */
  permits(free: number, taken: number, queued: number): void {
    this.#show.permitsFree(free)
    this.#show.permitsTaken(taken)
    this.#show.permitsQueued(queued)
  }

  /** The time of a stage of a request, which is also added to the request's own sums; called only while `timingOn`. */
  stage(stage: TimingStage, duration: Nanoseconds, request: StageSums | undefined): void {
    const index = timingStages.indexOf(stage)
    this.#tables.timing.add(this.#row, index, duration)
    request?.add(index, duration)
  }

  /** The last stage of a request has ended: its sums become `timing.last`. */
  stagesDone({ durations }: StageSums): void {
    this.#tables.timing.publish(this.#row, durations, process.hrtime.bigint())
  }
}

/** The reports of the HTTP layer on its requests and connections; one per front end. */
export type RequestMeter = Pick<RequestCounters, keyof RequestCounters>
