import { ownText } from '../log/secrets.js'
import type { CompletedRequest } from './requests.js'

/** The counts of one service and subservice [management 6.2]. */
export interface ServiceCount extends Sums {
  /** Both undefined for requests beyond the limit of services: they count in the overall sum only. */
  readonly service: string | undefined
  readonly subservice: string | undefined
}

export interface Sums {
  transactions: number
  request_bytes: number
  response_bytes: number
  errors: number
  /** Sum over the requests. */
  duration_ns: number
  /** Notifications and forwarded requests. */
  sent: number
  sent_bytes: number
  sentResponse_bytes: number
  sentErrors: number
}

/** The figures of the counts, in the order in which threads exchange them. */
export const figureNames = [
  ...(['transactions', 'request_bytes', 'response_bytes', 'errors', 'duration_ns'] as const),
  ...(['sent', 'sent_bytes', 'sentResponse_bytes', 'sentErrors'] as const),
] satisfies readonly (keyof Sums)[]

export function noCounts(): Sums {
  const received = { transactions: 0, request_bytes: 0, response_bytes: 0, errors: 0, duration_ns: 0 }
  return { ...received, sent: 0, sent_bytes: 0, sentResponse_bytes: 0, sentErrors: 0 }
}

export function addCounts(to: Sums, added: Sums): void {
  for (const name of figureNames) to[name] += added[name]
}

/** A notification or a forwarded request that has ended. */
export interface SentRequest {
  /** Both as they were sent. */
  readonly service: string | undefined
  readonly servicePath: string | undefined
  readonly request_bytes: number
  readonly response_bytes: number
  /** Failed, or answered with an HTTP status from 400 on. */
  readonly failed: boolean
}

/** The most pairs of service and subservice that are counted separately. */
const mostServices = 10_000
/** Longer headers are parsed each time: there may be many ways to write the same pair. */
const longestKnown = 256

/**
 * The requests of one front end by service and subservice. Clients choose the pairs, so their number is limited; requests beyond
 * the limit count in the overall sum.
 */
export class ServiceMetrics {
  #counts = new Map<string, ServiceCount>()
  /** By the headers as received, so that they are parsed once; undefined for malformed headers. */
  #known = new Map<string, ServiceCount | undefined>()

  record({ service, servicePath, request_bytes, response_bytes, status, duration }: CompletedRequest): void {
    const count = this.#count(service, servicePath)
    if (count === undefined) return
    count.transactions += 1
    count.request_bytes += request_bytes
    count.response_bytes += response_bytes
    if (status >= 400) count.errors += 1
    count.duration_ns += Number(duration)
  }

  /** Records a request that this broker has sent. */
  sent({ service, servicePath, request_bytes, response_bytes, failed }: SentRequest): void {
    const count = this.#count(service, servicePath)
    if (count === undefined) return
    count.sent += 1
    count.sent_bytes += request_bytes
    count.sentResponse_bytes += response_bytes
    if (failed) count.sentErrors += 1
  }

  /** The counts as they are now; they go on counting, unless they are cleared in the same step by `reset`. */
  take(reset: boolean): readonly ServiceCount[] {
    const counts = [...this.#counts.values()]
    if (reset) {
      this.#counts = new Map()
      this.#known = new Map()
    }
    return counts
  }

  /** Adds counts again whose reply was lost: the next reply has them. */
  giveBack(counts: readonly ServiceCount[]): void {
    for (const count of counts) addCounts(this.#held(count.service, count.subservice), count)
  }

  #count(service = '', servicePath = ''): ServiceCount | undefined {
    const headers = `${service}\n${servicePath}` // No header holds a line end.
    const known = this.#known.get(headers)
    if (known !== undefined || this.#known.has(headers)) return known
    const count = this.#open(service, servicePath)
    if (headers.length > longestKnown) return count
    if (this.#known.size >= mostServices) this.#known.clear()
    this.#known.set(ownText(headers), count)
    return count
  }

  #open(rawService: string, rawPath: string): ServiceCount | undefined {
    const service = serviceName(rawService)
    const subservice = subserviceName(rawPath)
    return service === undefined || subservice === undefined ? undefined : this.#held(service, subservice)
  }

  /** The counts of a pair; those of all others together where there is no room for another pair, or no valid pair. */
  #held(service: string | undefined, subservice: string | undefined): ServiceCount {
    const isPair = service !== undefined && subservice !== undefined
    const key = isPair ? `${service}\n${subservice}` : ''
    const held = this.#counts.get(key)
    if (held !== undefined) return held
    if (isPair && this.#counts.size < mostServices) return this.#add(key, service, subservice)
    return this.#counts.get('') ?? this.#add('', undefined, undefined)
  }

  #add(key: string, service: string | undefined, subservice: string | undefined): ServiceCount {
    const own = { service: service && ownText(service), subservice: subservice && ownText(subservice) }
    const count = { ...own, ...noCounts() }
    this.#counts.set(ownText(key), count)
    return count
  }
}

/** The key of a service; undefined when the header is malformed [management 6.2, context 5.1]. */
function serviceName(raw: string): string | undefined {
  if (raw === '') return 'default-service'
  return /^\w{1,50}$/.test(raw) ? raw.toLowerCase() : undefined
}

const path = /^((?:\/\w+)*)(?:\/#)?\/*$/

/** The key of a subservice: the first of the paths, without its first slash [management 6.2, context 5.2]. */
function subserviceName(raw: string): string | undefined {
  const text = raw.trim()
  if (text === '') return 'root-subserv'
  const paths = text.split(',')
  if (paths.length > 10) return undefined
  const levels = paths.map((one) => levelsOf(one.trim()))
  if (levels.includes(undefined)) return undefined
  return levels[0] === undefined || levels[0] === '' ? 'root-subserv' : levels[0].slice(1)
}

/**
 * The levels of a path, each with the slash before it; undefined when it is malformed, has more than ten, or one of them is too
 * long.
 */
function levelsOf(text: string): string | undefined {
  const found = text.startsWith('/') ? path.exec(text)?.[1] : undefined
  const levels = found?.split('/').slice(1) ?? []
  return levels.length <= 10 && levels.every((level) => level.length <= 50) ? found : undefined
}
