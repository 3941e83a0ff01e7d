import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { ngsi1Interface } from '../../src/api/ngsi1/routes.js'
import { ngsi2Interface } from '../../src/api/ngsi2/routes.js'
import type { Resource } from '../../src/broker/operations/api.js'
import { ProxyNotice } from '../../src/http/management-access.js'
import { type HttpOptions, type HttpServer, type HttpServerParts, openHttpServer } from '../../src/http/server.js'
import { AlarmReports } from '../../src/observe/log/alarms.js'
import type { Log } from '../../src/observe/log/log.js'
import { type TraceArea, traceArea } from '../../src/observe/log/trace.js'
import { DamageLog } from '../../src/observe/log/worker-log.js'
import type { RequestMeter } from '../../src/observe/measure/request-counters.js'
import { type Rejection, type StageSums, type TimingStage, timingStages } from '../../src/observe/measure/requests.js'
import type { WaitMeter } from '../../src/observe/measure/waits.js'
import { ok } from '../../src/result.js'
import { ConnectionLimit } from '../../src/threads/shared-memory/limits.js'
import { RequestMemory } from '../../src/threads/shared-memory/request-memory.js'
import { SharedSemaphore } from '../../src/threads/shared-memory/semaphore.js'
import { Switches } from '../../src/threads/shared-memory/switches.js'
import { TenantRates } from '../../src/threads/shared-memory/tenant-rates.js'
import { givenSteps } from '../given-steps.js'
import { plainOptions, scripted } from '../ngsi1/given.js'

/** A meter that keeps what it is told. */
export class Noted implements RequestMeter {
  readonly events: string[] = []
  readonly statuses: number[] = []
  open = 0
  inProgress = 0
  taken = 0
  queued = 0
  timingOn = false
  /** Of each request that has ended while stages were timed the stages that it has had. */
  readonly timed: (readonly TimingStage[])[] = []

  counted(resource: Resource | undefined, verb: string, payload: 'json' | 'text' | 'none', wrongVerb: boolean): void {
    this.events.push(`${verb} ${resource?.pattern ?? 'unknown'} ${payload}${wrongVerb ? ' wrong verb' : ''}`)
  }
  responded({ status }: { readonly status: number }): void {
    this.statuses.push(status)
  }
  slow(): void {}

  rejected(reason: Rejection): void {
    this.events.push(reason)
  }
  connectionOpened(): void {
    this.open += 1
  }
  connectionClosed(): void {
    this.open -= 1
  }
  requestBegun(): void {
    this.inProgress += 1
  }
  requestEnded(): void {
    this.inProgress -= 1
  }
  permits(_free: number, taken: number, queued: number): void {
    this.taken = taken
    this.queued = queued
  }
  stage(stage: TimingStage, _: bigint, request: StageSums | undefined): void {
    this.events.push(stage)
    request?.add(timingStages.indexOf(stage), 1n)
  }
  stagesDone({ durations }: StageSums): void {
    this.timed.push(timingStages.filter((_, stage) => (durations[stage] ?? 0n) > 0n))
  }
}

export interface Line {
  readonly level: string
  readonly message: string
}

export function notedLog(lines: Line[], switches: Switches): Log {
  const at = (level: string) => (_: string, message: string) => void lines.push({ level, message })
  const isTraced = (area: TraceArea) => switches.traces[traceArea[area]] === 1
  return {
    traces: switches.traces,
    isTraced,
    shows: () => true,
    fatal: at('FATAL'),
    error: at('ERROR'),
    warn: at('WARN'),
    info: at('INFO'),
    debug: at('DEBUG'),
    trace: (area, message) => {
      if (isTraced(area)) lines.push({ level: area, message })
    },
  }
}

export const options: HttpOptions = {
  port: 0,
  localIp: '127.0.0.1',
  family: 'both',
  https: undefined,
  corsOrigin: undefined,
  corsMaxAge_s: 86400,
  reqTimeout_s: 0,
  connectionMemory_KiB: 64,
  connectionRequests: 16,
  idleTimeout_s: 300,
  bodyTimeout_s: 60,
  sendTimeout_s: 60,
  requestMemory_MiB: 64,
  responseMemory_MiB: 256,
  requestPermits: 256,
  reqMaxWait_ms: 0,
  reqMutexPolicy: 'all',
  inReqPayloadMaxSize: 1_048_576,
  httpThreads: 1,
  multiservice: false,
  rateLimit: undefined,
  adminPort: undefined,
  adminIp: '127.0.0.1',
  adminHosts: ['h'],
  adminToken: undefined,
  adminOpen: false,
  accessLog: 'on',
}

/** Answers with the body that it was sent, and with what it was asked. */
export const echo: Resource = {
  pattern: '/v1/echo/{id}',
  aliases: ['/ngsi10/echo/{id}'],
  anyCase: true,
  operations: {
    POST: {
      use: 'write',
      prepare: ({ body }) => ok(() => ({ status: 200, body })),
      wrapStatus: (status) => ({ errorCode: status }),
    },
    GET: {
      use: 'read',
      prepare: ({ segments, parameters, paths }) =>
        ok(() => ({
          status: 200,
          body: () => JSON.stringify({ ...segments, parameters: Object.fromEntries(parameters), paths }),
        })),
    },
  },
}

const json = JSON.stringify({ ok: true })
const read = { use: 'read', prepare: () => ok(() => ({ status: 200, body: json })) } as const

export const managementResources: readonly Resource[] = [
  { pattern: '/version', anyCase: false, operations: { GET: read } },
  { pattern: '/health/live', anyCase: false, operations: { GET: read } },
  { pattern: '/statistics', anyCase: true, operations: { GET: read, DELETE: read } },
  {
    pattern: '/log/trace/{levels}',
    anyCase: true,
    operations: {
      PUT: {
        use: 'write',
        prepare: ({ segments, body }) => ok(() => ({ status: 200, body: `"${segments['levels']}${body}"` })),
      },
    },
  },
]

export interface Given {
  readonly frontEnd: HttpServer
  readonly meter: Noted
  readonly lines: Line[]
  readonly switches: Switches
  /** Sends texts of one byte per character on a new connection and gives everything that comes back until it is closed. */
  talk(...pieces: readonly string[]): Promise<string>
  connect(): Promise<Socket>
}

const silent: WaitMeter = { on: false, free: () => {}, waited: () => {} }

/** The interfaces for clients, with these resources in place of those of NGSIv1. */
export function givenInterfaces(resources: readonly Resource[]): HttpServerParts['interfaces'] {
  const surroundings = { broker: scripted(), options: plainOptions, deprecated: { note: () => undefined } }
  return { ngsi1: { ...ngsi1Interface(surroundings), resources }, ngsi2: ngsi2Interface(surroundings) }
}

/** A front end with small resources, ended with the test. */
export async function givenFrontEnd(
  t: { teardown(end: () => unknown): void },
  { maxConnections = 1020, ...changed }: Partial<HttpOptions> & { readonly maxConnections?: number } = {},
  ngsi1: readonly Resource[] = [echo],
  more: Partial<HttpServerParts> = {},
): Promise<Given> {
  const meter = new Noted()
  const lines: Line[] = []
  const switches = new Switches()
  switches.set('infoPayloadMaxSize', 100)
  const opened = await openHttpServer({
    interfaces: givenInterfaces(ngsi1),
    management: managementResources,
    options: { ...options, ...changed },
    meter,
    steps: givenSteps(),
    requestWait: silent,
    apiKeys: undefined,
    log: notedLog(lines, switches),
    damages: new DamageLog(notedLog(lines, switches), () => {}),
    switches,
    transaction: () => '1-000-00000000001',
    alarms: new AlarmReports(AlarmReports.memory(), () => undefined),
    takeReplies: () => {},
    memory: {
      permits: SharedSemaphore.memory(changed.requestPermits ?? options.requestPermits),
      connections: ConnectionLimit.memory(maxConnections),
      requestMemory: RequestMemory.memory(),
      responseMemory: RequestMemory.memory(),
      proxies: noticedBefore(),
      rates: changed.rateLimit && TenantRates.memory(changed.rateLimit),
    },
    index: 0,
    ...more,
  })
  if (!opened.ok) throw new Error(opened.error.kind)
  const frontEnd = opened.value
  t.teardown(() => frontEnd.stop(0))
  const open = () => connected(frontEnd.port)
  return { frontEnd, meter, lines, switches, connect: open, talk: async (...pieces) => talk(await open(), pieces) }
}

/** Tests send whatever `Host` they like. */
function noticedBefore(): SharedArrayBuffer {
  const memory = ProxyNotice.memory()
  new Int32Array(memory).fill(1)
  return memory
}

export async function connected(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  return socket
}

async function talk(socket: Socket, pieces: readonly string[]): Promise<string> {
  const [first = '', ...rest] = pieces
  socket.write(first, 'latin1')
  for (const piece of rest) {
    await new Promise((resolve) => setTimeout(resolve, 10))
    socket.write(piece, 'latin1')
  }
  return everything(socket)
}

/** What comes until the far end closes. */
export async function everything(socket: Socket): Promise<string> {
  let text = ''
  socket.setEncoding('latin1')
  socket.on('data', (chunk) => {
    text += chunk
  })
  // A reset or a write after the far end has closed is an end too: waiting with `once` would throw them.
  socket.on('error', () => {})
  if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve))
  return text
}

/** What comes until the text holds what is awaited. */
export async function untilReceived(socket: Socket, awaited: string): Promise<string> {
  let text = ''
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    text += String(chunk)
    if (text.includes(awaited)) return text
  }
  throw new Error(`closed before ${awaited}: ${text}`)
}

/** A request with a JSON body, on a connection that is closed after it. */
export function post(path: string, body: string, ...headers: readonly string[]): string {
  return request(
    'POST',
    path,
    ['Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`, ...headers],
    body,
  )
}

export function get(path: string, ...headers: readonly string[]): string {
  return request('GET', path, headers)
}

export function request(verb: string, path: string, headers: readonly string[], body = ''): string {
  return [
    `${verb} ${path} HTTP/1.1`,
    'Host: h',
    ...headers,
    'Connection: close',
    '',
    Buffer.from(body).toString('latin1'),
  ].join('\r\n')
}

export function statusOf(response: string): number {
  return Number(response.slice(9, 12))
}

export function bodyOf(response: string): string {
  return response.slice(response.indexOf('\r\n\r\n') + 4)
}

export function headerOf(response: string, name: string): string | undefined {
  return new RegExp(`^${name}: (.*)$`, 'im').exec(response)?.[1]?.trim()
}
