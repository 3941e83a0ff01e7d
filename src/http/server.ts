import { hostname } from 'node:os'
import type { Resource } from '../broker/operations/api.js'
import type { ApiKeys } from '../flags/api-keys.js'
import type { Options } from '../flags/settings.js'
import { isLoopback } from '../hosts.js'
import type { WaitMeter } from '../observe/measure/waits.js'
import { err, ok, type Result } from '../result.js'
import { ConnectionLimit } from '../threads/shared-memory/limits.js'
import { RequestMemory } from '../threads/shared-memory/request-memory.js'
import { SharedSemaphore } from '../threads/shared-memory/semaphore.js'
import { TenantRates } from '../threads/shared-memory/tenant-rates.js'
import { type Milliseconds, secondsText } from '../time.js'
import { Admission, type AdmissionReport, Overload, permitShare } from './admission.js'
import { tokenCheck } from './checks.js'
import { ClientAccess, RefusalLines } from './client-access.js'
import {
  descriptorOf,
  hostsOf,
  type ListenAddress,
  type ListenRefusal,
  listen,
  readTls,
  stopListening,
  type Tls,
  validUntil,
} from './listen.js'
import { Listener, type ListenerLimits } from './listener.js'
import { ProxyNotice, SiteCheck, trustCheck } from './management-access.js'
import type { FrontEndContext, ServerContext } from './request-context.js'
import { ReplyInterleaving, ResponseBatch } from './response-writer.js'
import { Cors } from './responses.js'
import { type Interfaces, kindOf, kinds, segmentsOf } from './target.js'

/** The options that the front end goes by. */
export type HttpOptions = Pick<
  Options,
  | 'port'
  | 'localIp'
  | 'family'
  | 'https'
  | 'corsOrigin'
  | 'corsMaxAge_s'
  | 'reqTimeout_s'
  | 'connectionMemory_KiB'
  | 'connectionRequests'
  | 'idleTimeout_s'
  | 'bodyTimeout_s'
  | 'sendTimeout_s'
  | 'requestMemory_MiB'
  | 'responseMemory_MiB'
  | 'requestPermits'
  | 'reqMaxWait_ms'
  | 'reqMutexPolicy'
  | 'inReqPayloadMaxSize'
  | 'httpThreads'
  | 'multiservice'
  | 'rateLimit'
  | 'adminPort'
  | 'adminIp'
  | 'adminHosts'
  | 'adminToken'
  | 'adminOpen'
  | 'accessLog'
>

/** The memory that all front ends share. */
export interface HttpMemory {
  /** The permits for requests, see `SharedSemaphore`. */
  readonly permits: SharedArrayBuffer
  /** Of the `ConnectionLimit`. */
  readonly connections: SharedArrayBuffer
  /** Of the `RequestMemory` of requests. */
  readonly requestMemory: SharedArrayBuffer
  /** Of the `RequestMemory` of large responses. */
  readonly responseMemory: SharedArrayBuffer
  /** Whether a proxy has been noticed, see `ProxyNotice`. */
  readonly proxies: SharedArrayBuffer
  /** Of the `TenantRates`; undefined without limits. */
  readonly rates: SharedArrayBuffer | undefined
}

/** The parts of a front end. */
export interface HttpServerParts extends FrontEndContext {
  readonly interfaces: Interfaces
  readonly management: readonly Resource[]
  readonly options: HttpOptions
  readonly requestWait: WaitMeter
  /** The keys of the interfaces for clients; nothing where none is needed. */
  readonly apiKeys: ApiKeys | undefined
  /** Takes in what the partitions have replied meanwhile. */
  readonly takeReplies: () => void
  /** Told until when the certificate is valid that new connections get. */
  readonly certified?: (until: Milliseconds) => void
  readonly memory: HttpMemory
  /** Which of the front ends this is; number 0 opens the sockets and has the port of the management. */
  readonly index: number
  /** The listening socket that front end 0 has opened, for the others. */
  readonly fd?: number | undefined
}

/** A front end that listens. */
export interface HttpServer {
  /** The descriptor of the listening socket, for front ends in other threads. */
  readonly fd: number
  readonly port: number
  readonly adminPort: number | undefined
  /** Has new connections use another key and certificate. */
  useTls(tls: Tls): void
  /**
   * Ends it in order; the value is how many requests were given up at the limit [management 12.2]. Front end 0 closes the
   * socket, and with it all stop to accept. The descriptor is one for the whole process, and Node closes it again with each
   * thread that listened on it: such threads must not end before everything else that has files open.
   */
  stop(limit_ms: number): Promise<number>
}

/** Opens the sockets, or accepts on the one that another front end has opened. */
export async function openHttpServer(parts: HttpServerParts): Promise<Result<HttpServer, ListenRefusal>> {
  const { options } = parts
  const tls = await readTls(options.https)
  if (!tls.ok) return tls
  if (tls.value !== undefined) parts.certified?.(validUntil(tls.value))
  const admission = newAdmission(parts)
  const listeners: Listener[] = []
  const contexts: ServerContext[] = []
  const open = async (
    resources: readonly Resource[],
    connections: ConnectionLimit | undefined,
    where: ListenAddress,
  ) => {
    const servesManagement = options.adminPort === undefined || resources === parts.management
    const context = newContext(parts, admission, servesManagement)
    const listener = new Listener(context, resources, limitsOf(options, connections), tls.value)
    const refusal = await listen(listener, where, parts.log)
    if (refusal !== undefined) {
      listener.drop()
      return refusal
    }
    listener.survivesErrors()
    contexts.push(context)
    listeners.push(listener)
    return undefined
  }
  const limit = new ConnectionLimit(parts.memory.connections)
  const main: ListenAddress =
    parts.fd === undefined ? { port: options.port, hosts: hostsOf(options) } : { fd: parts.fd }
  let refusal = await open(mainResources(parts), limit, main)
  if (refusal === undefined && options.adminPort !== undefined && parts.index === 0) {
    const hosts = [{ host: options.adminIp, ipv6Only: false }]
    refusal = await open(parts.management, undefined, { port: options.adminPort, hosts })
  }
  if (refusal !== undefined) {
    for (const listener of listeners) stopListening(listener, parts.fd !== undefined)
    return err(refusal)
  }
  return ok(frontEnd(parts, listeners, contexts))
}

function frontEnd(
  parts: HttpServerParts,
  listeners: readonly Listener[],
  contexts: readonly ServerContext[],
): HttpServer {
  const [main, admin] = listeners
  return {
    fd: parts.fd ?? descriptorOf(main),
    port: main?.address?.port ?? parts.options.port,
    adminPort: admin?.address?.port,
    useTls: (tls) => {
      parts.certified?.(validUntil(tls))
      for (const listener of listeners) listener.useTls(tls)
    },
    stop: (limit_ms) => stop(listeners, contexts, parts.fd !== undefined, limit_ms),
  }
}

async function stop(
  listeners: readonly Listener[],
  contexts: readonly ServerContext[],
  isShared: boolean,
  limit_ms: number,
): Promise<number> {
  for (const context of contexts) context.stopping = true
  for (const listener of listeners) stopListening(listener, isShared)
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, limit_ms)
  })
  const drained = Promise.all(listeners.map((listener) => listener.drain()))
  await Promise.race([drained, limit])
  clearTimeout(timer)
  const givenUp = listeners.reduce((count, listener) => count + listener.inProgress, 0)
  for (const listener of listeners) listener.drop()
  return givenUp
}

/** With a port of its own the management is unknown on the main one, except for what is served on both [management 13]. */
function mainResources({ interfaces, management, options }: HttpServerParts): readonly Resource[] {
  const forClients = [...interfaces.ngsi1.resources, ...interfaces.ngsi2.resources]
  if (options.adminPort === undefined) return [...forClients, ...management]
  return [...forClients, ...management.filter(({ pattern }) => kinds[kindOf(segmentsOf(pattern))].isOnBothPorts)]
}

function newContext(parts: HttpServerParts, admission: Admission, servesManagement: boolean): ServerContext {
  const { options, memory, meter, steps, log, damages, switches, transaction, alarms } = parts
  const rules = {
    hasToken: tokenCheck(options.adminToken),
    isTrusted: trustCheck(options.adminToken !== undefined, options.adminOpen),
    sites: siteCheck(options),
    maxTarget_bytes: options.connectionMemory_KiB * 512,
    maxBody_bytes: options.inReqPayloadMaxSize,
    cors: new Cors(parts.interfaces, options.corsOrigin, options.corsMaxAge_s),
    interfaces: parts.interfaces,
  }
  const responses = new ResponseBatch()
  const trustsThisMachine = servesManagement && options.adminToken === undefined && !options.adminOpen
  return {
    rules,
    access: clientAccess(parts, rules.cors),
    proxies: trustsThisMachine ? new ProxyNotice(memory.proxies, hostname(), log) : undefined,
    admission,
    responses,
    interleaving: new ReplyInterleaving(responses, parts.takeReplies),
    memory: new RequestMemory(options.requestMemory_MiB, memory.requestMemory),
    responseMemory: new RequestMemory(options.responseMemory_MiB, memory.responseMemory),
    policy: options.reqMutexPolicy,
    accessLog: options.accessLog,
    ...{ meter, steps, log, damages, switches, transaction, alarms },
    stopping: false,
  }
}

function clientAccess({ options, apiKeys, memory, log }: HttpServerParts, cors: Cors): ClientAccess | undefined {
  const { rateLimit, multiservice } = options
  const rates = rateLimit && memory.rates && new TenantRates(rateLimit, memory.rates)
  if (apiKeys === undefined && rates === undefined) return undefined
  return new ClientAccess({
    keys: apiKeys,
    rates,
    multiservice,
    isPreflight: ({ verb, target }) => verb === 'OPTIONS' && cors.takesOptions(target.kind),
    lines: new RefusalLines(log, 'http:rate', 'the tenant sends more than -rateLimit allows'),
  })
}

function siteCheck({ corsOrigin, adminHosts, adminPort, adminIp, adminToken, localIp }: HttpOptions): SiteCheck {
  const address = adminPort === undefined ? localIp : adminIp
  return new SiteCheck({
    names: adminHosts,
    machine: hostname(),
    isLoopback: address !== undefined && isLoopback(address),
    hasToken: adminToken !== undefined,
    shared: corsOrigin,
  })
}

function newAdmission({ options, meter, requestWait, log, index, memory }: HttpServerParts): Admission {
  const share = permitShare(options.requestPermits, options.httpThreads, index)
  const semaphore = new SharedSemaphore(memory.permits)
  const lines = new RefusalLines(log, 'http:overload', 'more requests arrive than the broker can carry out')
  const overload = new Overload(BigInt(options.reqMaxWait_ms) * 1_000_000n)
  const report: AdmissionReport = {
    permits: (free, taken, queued) => {
      meter.permits(free, taken, queued)
      if (log.isTraced('service.admission')) {
        log.trace('service.admission', `${semaphore.free} permits left, ${queued} requests waiting here`)
      }
    },
    get tracing() {
      return log.isTraced('wait.request')
    },
    waited: (wait) => log.trace('wait.request', `waited ${secondsText(wait)} s for a permit`),
    refused: () => {
      meter.rejected('overload')
      lines.refused()
    },
  }
  return new Admission(semaphore, share, requestWait, report, overload)
}

function limitsOf(options: HttpOptions, connections: ConnectionLimit | undefined): ListenerLimits {
  return {
    maxHead_bytes: options.connectionMemory_KiB * 1024,
    timeout_ms: options.reqTimeout_s * 1000,
    idle_s: options.idleTimeout_s,
    body_s: options.bodyTimeout_s,
    send_s: options.sendTimeout_s,
    atWork: options.connectionRequests,
    connections,
    beyond: options.httpThreads > 1 ? sharedBeyond : 0,
  }
}

/** With several front ends the longest idle connection may be another one's, which closes it within a second. */
const sharedBeyond = 16
