import { err, ok, type Result } from '../../result.js'

/** The areas of the broker that have trace lines, by name, with their levels in the groups of Orion [management 2.5]. */
export const traceArea = {
  'http.connection': 20,
  'http.route': 21,
  'http.url': 22,
  'http.request': 23,
  'http.headers': 24,
  'http.listen': 25,
  'http.headers.unknown': 26,
  'http.malformed': 27,
  'http.response': 28,
  'http.body': 29,
  'http.tenant': 30,
  'http.params': 31,
  'http.servicepath': 32,
  'http.cors': 34,
  'http.tls': 35,
  'http.ip': 36,
  'http.providers': 37,
  'http.transaction': 38,
  'http.payload': 39,
  parse: 40,
  'parse.check': 42,
  'parse.dump': 45,
  render: 50,
  'service.partition': 62,
  'service.fanout': 63,
  'service.take': 65,
  'service.admission': 67,
  worker: 80,
  'storage.write': 102,
  'storage.txn': 103,
  'storage.commit': 104,
  'storage.index': 105,
  'storage.open': 107,
  'storage.pool': 109,
  shutdown: 120,
  notify: 160,
  'notify.request': 161,
  'notify.response': 162,
  'notify.queue': 165,
  'notify.throttle': 166,
  'notify.initial': 167,
  'payload.in': 180,
  'payload.out': 181,
  'payload.client.in': 182,
  'payload.client.out': 183,
  'payload.client.dump': 185,
  'payload.forward.out': 186,
  'payload.forward.in': 187,
  'wait.request': 200,
  'wait.pool': 201,
  'wait.transaction': 202,
  'wait.mailbox': 205,
  subscription: 210,
  'subscription.match': 211,
  'subscription.sync': 212,
  'subscription.change': 213,
  registration: 230,
  'registration.match': 231,
  forward: 232,
  'forward.error': 233,
  availability: 234,
  statistics: 240,
  metrics: 241,
  admin: 242,
  alarm: 243,
  config: 244,
  security: 245,
} as const

export type TraceArea = keyof typeof traceArea

/** What the lines of each area show, as operators read it. */
export const traceMeanings: Readonly<Record<TraceArea, string>> = {
  'http.connection': 'connections',
  'http.route': 'path and verb to operation',
  'http.url': 'path as received',
  'http.request': 'request lines',
  'http.headers': 'request headers',
  'http.listen': 'listening',
  'http.headers.unknown': 'headers that are not used',
  'http.malformed': 'malformed HTTP',
  'http.response': 'status, size and headers of responses',
  'http.body': 'pieces of bodies',
  'http.tenant': 'tenants',
  'http.params': 'URI parameters',
  'http.servicepath': 'service paths',
  'http.cors': 'CORS',
  'http.tls': 'TLS',
  'http.ip': 'addresses of clients',
  'http.providers': 'requests to providers',
  'http.transaction': 'begin and end of each request',
  'http.payload': 'size and type of payloads',
  parse: 'payloads parsed: bytes, time',
  'parse.check': 'the check of a payload that failed',
  'parse.dump': 'how a payload was understood',
  render: 'renderings',
  'service.partition': 'entity to partition',
  'service.fanout': 'queries looked up or handed to query threads',
  'service.take': 'commands taken by a partition',
  'service.admission': 'permits of the request semaphore',
  worker: 'threads started and ended',
  'storage.write': 'records written',
  'storage.txn': 'write transactions',
  'storage.commit': 'commit and sync',
  'storage.index': 'entries of the indexes',
  'storage.open': 'partitions opened',
  'storage.pool': 'read handles lent and returned',
  shutdown: 'steps of the end',
  notify: 'notifications that are due',
  'notify.request': 'notifications sent',
  'notify.response': 'notifications accepted or failed',
  'notify.queue': 'into and out of the queue',
  'notify.throttle': 'held back by throttling',
  'notify.initial': 'initial notifications',
  'payload.in': 'bodies of requests',
  'payload.out': 'bodies of responses',
  'payload.client.in': 'bodies from receivers',
  'payload.client.out': 'bodies to receivers',
  'payload.client.dump': 'notifications with their heads',
  'payload.forward.out': 'bodies to providers',
  'payload.forward.in': 'bodies from providers',
  'wait.request': 'waits for a permit',
  'wait.pool': 'waits for a read handle',
  'wait.transaction': 'waits for a write transaction',
  'wait.mailbox': 'waits in a mailbox',
  subscription: 'subscriptions made, changed, ended',
  'subscription.match': 'which subscriptions matched, and why others did not',
  'subscription.sync': 'subscriptions spread to the partitions',
  'subscription.change': 'what counted as a change',
  registration: 'registrations',
  'registration.match': 'discoveries',
  forward: 'requests forwarded',
  'forward.error': 'forwarded requests that failed',
  availability: 'notices of availability',
  statistics: 'statistics',
  metrics: 'metrics',
  admin: 'changes by management',
  alarm: 'alarms, repeated ones too',
  config: 'settings and their source',
  security: 'wrong tokens',
}

/** Trace levels are numbered 0 to 255 [management 2.1]. */
const highest = 255

/** Why a text is no trace level expression. */
interface MalformedTraceLevels {
  readonly kind: 'malformedTraceLevels'
  readonly item: string
}

/**
 * The levels that an expression such as `19, 21-25` names, ascending and each once; refuses what is malformed and names
 * the first bad item [management 2.2].
 */
export function parseTraceLevels(text: string): Result<readonly number[], MalformedTraceLevels> {
  const levels = new Set<number>()
  for (const item of text.split(',')) {
    const range = rangeOf(item)
    if (range === undefined) return err({ kind: 'malformedTraceLevels', item })
    for (let level = range.first; level <= range.last; level += 1) levels.add(level)
  }
  return ok([...levels].sort((one, other) => one - other))
}

/**
 * The levels that are on, in normal form: ascending, neighbours as `first-last`, joined with a comma and a space; the
 * empty text when all are off [management 2.3].
 */
export function traceLevelsText(traces: Uint8Array): string {
  const runs: string[] = []
  for (let first = 0; first < traces.length; first += 1) {
    if (traces[first] !== 1) continue
    let last = first
    while (traces[last + 1] === 1) last += 1
    runs.push(first === last ? String(first) : `${first}-${last}`)
    first = last
  }
  return runs.join(', ')
}

function rangeOf(item: string): { readonly first: number; readonly last: number } | undefined {
  const match = /^ *(\d+)(?:-(\d+))? *$/.exec(item)
  if (match === null) return undefined
  const first = Number(match[1])
  const last = Number(match[2] ?? match[1])
  return first <= last && last <= highest ? { first, last } : undefined
}
