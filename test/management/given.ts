import { tmpdir } from 'node:os'
import { liveResources } from '../../src/api/console/live-resources.js'
import { configResources, slowResources, viewResources } from '../../src/api/console/resources.js'
import { processMetrics } from '../../src/api/management/metric-text.js'
import {
  type ManagementParts,
  type ProcessPeers,
  type SharedPartOf,
  sharedPartOf,
} from '../../src/api/management/parts.js'
import { managementResources } from '../../src/api/management/resources.js'
import type { SubscriptionService } from '../../src/broker/front-end/broker.js'
import { EventStreams } from '../../src/broker/front-end/event-stream.js'
import type { BackupService } from '../../src/broker/front-end/services.js'
import type { ApiRequest, ApiResponse, Resource, Verb } from '../../src/broker/operations/api.js'
import { readOptions } from '../../src/flags/command-line.js'
import { RegistrationIndex } from '../../src/model/registration/registration-index.js'
import type { Facts, Log } from '../../src/observe/log/log.js'
import { type TraceArea, traceArea } from '../../src/observe/log/trace.js'
import { Measures } from '../../src/observe/measure/measures.js'
import { err, ok } from '../../src/result.js'
import { ViewerLimit } from '../../src/threads/shared-memory/limits.js'
import { waiting } from '../given.js'

/** A line that was logged. */
export interface Line {
  readonly level: string
  readonly message: string
  readonly facts: Facts | undefined
}

/** Where no partition stands still. */
const noBackups: BackupService = {
  begin: async () => err({ kind: 'notTogether' }),
  goOn: async () => false,
  end: async () => false,
}

const nothingToSee = { watch: () => () => {} }

/** A management interface on measures of its own, as the HTTP layer uses it. */
export function management(changed: Partial<ManagementParts> = {}) {
  const measures = changed.measures ?? Measures.make({ frontEnds: 1, partitions: 2, queryThreads: 0 })
  const lines: Line[] = []
  const parts: ManagementParts = {
    measures,
    log: logTo(lines, measures.switches.traces),
    broker: broker(),
    freeHandles: () => 1,
    cluster: undefined,
    applied: [],
    disk: { path: tmpdir(), keepFree_bytes: 0 },
    peers: withoutPeers(sharedPartOf(measures, { process: processMetrics(() => 0) })),
    backups: noBackups,
    ...changed,
  }
  const run = readOptions([], {})
  if (run.kind !== 'run') throw new Error('the defaults are a command line')
  const resources = [
    ...managementResources(parts),
    ...configResources({ settings: run.settings, options: run.options, measures }),
    ...slowResources(parts),
    ...liveResources({
      feeds: nothingToSee,
      streams: new EventStreams(),
      viewers: ViewerLimit.memory(),
    }),
    ...viewResources({ ...parts, broker: emptyBroker(parts.broker), queueMax: 1, newMatcher }),
  ]
  const requests = measures.requests(resources)

  /** Prepares, counts and does what a request asks for, in the order of the HTTP layer. */
  async function send(verb: Verb, pattern: string, given: Partial<ApiRequest> = {}): Promise<ApiResponse> {
    const resource = row(resources, pattern)
    const operation = resource.operations[verb]
    if (operation === undefined) throw new Error(`${pattern} has no ${verb}`)
    const prepared = await operation.prepare({ ...nothing, verb, ...given })
    if (!prepared.ok) return prepared.error
    requests.counted(resource, verb, 'none', false)
    if (typeof prepared.value === 'object') throw new Error(`the payload of ${pattern} is not checked`)
    return prepared.value()
  }
  return { measures, parts, resources, requests, lines, send }
}

/** The same without entities and registrations. */
function emptyBroker(given: ManagementParts['broker']) {
  return {
    ...given,
    entities: async () => ok([]),
    view: async () => err({ kind: 'queriesFull' } as const),
    registry: { index: new RegistrationIndex() },
  }
}

/** These resources are tried with a broker of their own. */
const newMatcher = () => {
  throw new Error('nothing is matched here')
}

/** The only front end there is. */
export function withoutPeers(response: SharedPartOf): ProcessPeers {
  return { gather: async (name, request) => [await response(name, request)] }
}

/** A broker that is well and has no subscriptions, but for what the script says. */
export function broker(script: Partial<ManagementParts['broker']> = {}): ManagementParts['broker'] {
  return {
    health: async () => ({ total: 2, ready: 2, storageFull: false }),
    subscriptions: subscriptionService(),
    registry: noRegistry,
    ...script,
  }
}

const noRegistry = { states: async () => [], index: { size: 0 } }

/** A subscription service without subscriptions, but for what the script says. */
export function subscriptionService(script: Partial<SubscriptionService> = {}): SubscriptionService {
  const none = async () => err({ kind: 'subscriptionUnknown' } as const)
  return {
    subscribe: async () => err({ kind: 'storageFull' }),
    add: async () => err({ kind: 'storageFull' }),
    change: none,
    patch: none,
    page: async () => ok({ count: 0, subscriptions: [] }),
    one: async () => ok(undefined),
    search: async () => ({ count: 0, subscriptions: [] }),
    inspected: async () => ({ state: 'idle', underWay: 0, attempts: [] }),
    receivers: async () => ({ count: 0, receivers: [] }),
    unsubscribe: none,
    states: async () => [],
    index: async () => ({ count: 0, firstIds: [], changes: { refresh: 0, inserts: 0, removes: 0, updates: 0 } }),
    ...script,
  }
}

const nothing: Omit<ApiRequest, 'verb'> = {
  segments: {},
  parameters: new Map(),
  headers: {},
  paths: [],
  body: '',
  correlator: 'corr-1',
  client: waiting,
}

export function parameters(...pairs: readonly (readonly [string, string])[]): Partial<ApiRequest> {
  return { parameters: new Map(pairs) }
}

export function row(resources: readonly Resource[], pattern: string): Resource {
  const found = resources.find((resource) => resource.pattern === pattern)
  if (found === undefined) throw new Error(`there is no resource ${pattern}`)
  return found
}

export function text({ body = '' }: ApiResponse): string {
  return typeof body === 'string' ? body : body()
}

export function bodyOf(response: ApiResponse): unknown {
  return JSON.parse(text(response))
}

/** A log that keeps its lines. */
function logTo(lines: Line[], traces: Uint8Array): Log {
  const at = (level: string) => (_op: string, message: string, facts?: Facts) => {
    lines.push({ level, message, facts })
  }
  const isTraced = (area: TraceArea) => traces[traceArea[area]] === 1
  return {
    traces,
    isTraced,
    shows: () => true,
    fatal: at('FATAL'),
    error: at('ERROR'),
    warn: at('WARN'),
    info: at('INFO'),
    debug: at('DEBUG'),
    trace: (area, message, facts) => {
      if (isTraced(area)) lines.push({ level: area, message, facts })
    },
  }
}
