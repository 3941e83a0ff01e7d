import type { Socket } from 'node:net'
import { mostTaking_ms } from '../time-limit.js'
import type { ClientConnection, InProgress } from './connections.js'

/** How long connections may do nothing, or too little; 0 for as long as they like [management 11.8]. */
export interface ConnectionLimits {
  /** Without a request in progress. */
  readonly idle_s: number
  /** For the body of a request, and a second more for each `bodyRate` bytes that have come. */
  readonly body_s: number
  /** For a client that reads nothing of the responses that are ready for it. */
  readonly send_s: number
}

/** The least that is expected of a client that sends a body: what has come earns it more time. */
const bodyRate_bytes = 4096

/** Up to this many bytes or characters responses are not counted: there are no more of them than connections. */
export const small_bytes = 64 * 1024

/** Why a connection is closed. */
export type Overdue = 'idle' | 'body' | 'unread' | 'slow' | 'slowBody'

/** Which memory of others was refused since the last look. */
export interface Shortage {
  readonly requests: boolean
  readonly responses: boolean
}

/** What is seen of a connection at one look; bytes are those since it was opened. */
export interface ConnectionLook {
  /** By the listener's clock. */
  readonly now_s: number
  readonly read_bytes: number
  /** Taken by the client, or by the system for it; 0 while nothing is ready. */
  readonly taken_bytes: number
  /** Ready for the client, and not taken. */
  readonly unsent_bytes: number
  readonly busy: boolean
  /** The request whose body is arriving. */
  readonly reading: InProgress | undefined
  readonly paused: boolean
}

/**
 * When something has moved on a connection, as of its last look. It is changed in place, since there may be very many, and each is looked
 * at every second.
 */
export interface Activity {
  seenAt_s: number
  read_bytes: number
  taken_bytes: number
  unsent_bytes: number
  busy: boolean
  reading: InProgress | undefined
  sentAt_s: number
  movedAt_s: number
  /** Since when the connection has many bytes to send, and what the client had taken before. */
  owingSince_s: number | undefined
  owingFrom_bytes: number
  /** Since when the body of a request arrives, without the time in which nothing is read, and what had come before. */
  bodySince_s: number
  bodyFrom_bytes: number
}

/** The activity of a connection that was just opened; in one literal, whose objects are fast to change. */
export function firstActivity(now_s: number): Activity {
  return {
    seenAt_s: now_s,
    read_bytes: 0,
    taken_bytes: 0,
    unsent_bytes: 0,
    busy: false,
    reading: undefined,
    sentAt_s: now_s,
    movedAt_s: now_s,
    owingSince_s: undefined,
    owingFrom_bytes: 0,
    bodySince_s: now_s,
    bodyFrom_bytes: 0,
  }
}

/** Takes the activity of a connection from one look to the next. */
export function advance(activity: Activity, look: ConnectionLook): void {
  const { now_s, read_bytes, taken_bytes, unsent_bytes, busy, reading, paused } = look
  if (unsent_bytes === 0 || activity.unsent_bytes === 0 || taken_bytes !== activity.taken_bytes)
    activity.sentAt_s = now_s
  if (read_bytes !== activity.read_bytes || busy || unsent_bytes > 0) activity.movedAt_s = now_s
  if (unsent_bytes <= small_bytes) activity.owingSince_s = undefined
  else if (activity.owingSince_s === undefined) {
    activity.owingSince_s = now_s
    activity.owingFrom_bytes = taken_bytes
  }
  if (reading !== activity.reading) {
    activity.bodySince_s = now_s
    activity.bodyFrom_bytes = read_bytes
  }
  // While nothing is read the client cannot send.
  if (paused) activity.bodySince_s += now_s - activity.seenAt_s
  activity.seenAt_s = now_s
  activity.read_bytes = read_bytes
  activity.taken_bytes = taken_bytes
  activity.unsent_bytes = unsent_bytes
  activity.busy = busy
  activity.reading = reading
}

/**
 * Why a connection is to be closed, if it is. Where others were refused memory, a client has to take its responses and send its body at
 * the least rate of what others wait for.
 */
export function overdueFor(activity: Activity, limits: ConnectionLimits, shortage: Shortage): Overdue | undefined {
  const { seenAt_s, owingSince_s } = activity
  if (isOver(limits.send_s, seenAt_s - activity.sentAt_s)) return 'unread'
  // Requests that wait behind unread responses of their own connection hold memory of requests.
  const isAwaited = shortage.responses || (shortage.requests && activity.busy)
  if (isAwaited && owingSince_s !== undefined) {
    if (isTooSlow(seenAt_s - owingSince_s, activity.taken_bytes - activity.owingFrom_bytes)) return 'slow'
  }
  if (isOver(limits.idle_s, seenAt_s - activity.movedAt_s)) return 'idle'
  if (activity.reading === undefined) return undefined
  const passed_s = seenAt_s - activity.bodySince_s
  const come_bytes = activity.read_bytes - activity.bodyFrom_bytes
  if (isOver(limits.body_s, passed_s - come_bytes / bodyRate_bytes)) return 'body'
  return shortage.requests && isTooSlow(passed_s, come_bytes) ? 'slowBody' : undefined
}

function isTooSlow(passed_s: number, moved_bytes: number): boolean {
  return passed_s * 1000 > mostTaking_ms(moved_bytes)
}

/** Looks at a connection; what its client has taken is counted, since what waits may be replaced by as much between two looks. */
export function lookAt(
  { socket, busy, reading, paused }: Pick<ClientConnection, 'socket' | 'busy' | 'reading' | 'paused'>,
  now_s: number,
): ConnectionLook {
  const read_bytes = socket.bytesRead
  const { writableLength } = socket
  // Most have nothing to send, and handles are not asked for it.
  if (writableLength === 0) return { now_s, read_bytes, taken_bytes: 0, unsent_bytes: 0, busy, reading, paused }
  const { written_bytes, queued_bytes } = handedOver(socket)
  // What waits in Node and in the system's calls; what the kernel has taken is sent.
  const unsent_bytes = writableLength + queued_bytes
  return { now_s, read_bytes, taken_bytes: written_bytes - queued_bytes, unsent_bytes, busy, reading, paused }
}

/** While connections are closed for others, the time that a new one has before it counts as idle, and the part of all that new ones may be. */
const newOnes = { free_s: 2, part: 1 / 4 } as const

/** How long a TLS handshake may take, from when its connection was accepted [management 11.8]. */
export const handshakeMost_s = 60

/**
 * Whether the oldest TLS handshake is closed before the longest idle connection. Its client has some time for it: if handshakes always went
 * first, one silent connection after the other would end each of them, while idle connections stay.
 */
export function handshakeGoesFirst(oldest_s: number, count: number, maxConnections: number): boolean {
  return oldest_s > newOnes.free_s || count > maxConnections * newOnes.part
}

/** What the choice of a connection that is closed for others needs to know of one. */
export type Closable = Pick<ClientConnection, 'busy' | 'onlyReads' | 'opened_s' | 'usedAt'> & {
  readonly socket: Pick<Socket, 'writableLength'>
}

/**
 * The connection that is closed when there are as many as are allowed: the one that has been idle for longest, else one
 * that has not sent a whole request or has not read its responses. Work is never given up. One that was just opened has some time for its
 * first request: else silent ones would end it, while those that never send a whole request stay.
 */
export function longestIdle<Connection extends Closable>(
  connections: Iterable<Connection>,
  now_s: number,
  maxConnections: number,
): Connection | undefined {
  let found: Connection | undefined
  let foundRank = Number.POSITIVE_INFINITY
  let oldestNew: Connection | undefined
  let count = 0
  for (const connection of connections) {
    const state = idleState(connection, now_s)
    const rank = ranks[state]
    if (state === 'new') {
      count += 1
      oldestNew = earlier(connection, oldestNew)
    }
    if (state === 'working' || rank > foundRank) continue
    found = rank < foundRank ? connection : earlier(connection, found)
    foundRank = rank
  }
  return foundRank !== ranks.idle && count > maxConnections * newOnes.part ? oldestNew : found
}

type IdleState = 'idle' | 'new' | 'reads' | 'unread' | 'working'

/** The lowest goes first. A new connection was used later than most of those that have not sent a whole request. */
const ranks: Readonly<Record<IdleState, number>> = { idle: 0, new: 1, reads: 1, unread: 2, working: 3 }

function idleState({ busy, onlyReads, opened_s, socket }: Closable, now_s: number): IdleState {
  if (busy) return onlyReads ? 'reads' : 'working'
  if (socket.writableLength > 0) return 'unread'
  return now_s - opened_s > newOnes.free_s ? 'idle' : 'new'
}

function earlier<Connection extends Closable>(one: Connection, other: Connection | undefined): Connection {
  return other === undefined || one.usedAt <= other.usedAt ? one : other
}

function isOver(limit_s: number, passed_s: number): boolean {
  return limit_s > 0 && passed_s >= limit_s
}

/**
 * What Node has handed over to the system for a socket, and what waits there: one large write moves only there, for which Node has no
 * public name. Under TLS it moves in the handle below, as it is encrypted at once.
 */
function handedOver(socket: Socket): { readonly written_bytes: number; readonly queued_bytes: number } {
  const own = part(socket, '_handle')
  const handle = part(own, '_parent') ?? own
  return { written_bytes: numberOf(handle, 'bytesWritten'), queued_bytes: numberOf(handle, 'writeQueueSize') }
}

function part(whole: object | undefined, name: string): object | undefined {
  const found: unknown = whole === undefined ? undefined : Reflect.get(whole, name)
  return typeof found === 'object' && found !== null ? found : undefined
}

function numberOf(handle: object | undefined, name: string): number {
  const found: unknown = handle === undefined ? undefined : Reflect.get(handle, name)
  return typeof found === 'number' ? found : 0
}
