import { readdirSync, readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import type { Log } from '../log/log.js'
import type { ConnectionLimit } from '../shared-memory/connection-limit.js'
import type { ClientConnection } from './connections.js'

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

/** Why a connection is closed. */
export type Overdue = 'idle' | 'body' | 'unread'

/** Looks what has moved on a connection since the last look; says why it is to be closed, if it is. */
export function overdue(connection: ClientConnection, now: number, limits: ConnectionLimits): Overdue | undefined {
  const { facts, socket } = connection
  const unsent = unsentBytes(socket)
  if (unsent === 0 || facts.unsent_bytes === 0 || unsent < facts.unsent_bytes) facts.sentAt = now
  facts.unsent_bytes = unsent
  if (socket.bytesRead !== facts.read_bytes || connection.busy || unsent > 0) facts.movedAt = now
  facts.read_bytes = socket.bytesRead
  if (isOver(limits.send_s, now - facts.sentAt)) return 'unread'
  if (isOver(limits.idle_s, now - facts.movedAt)) return 'idle'
  return readsTooSlowly(connection, now, limits.body_s) ? 'body' : undefined
}

/**
 * The connection that is closed when there are as many as are allowed: the one that has been idle for longest, else one
 * that has not sent a whole request or has not read its responses. Work is never given up.
 */
export function longestIdle(connections: Iterable<ClientConnection>): ClientConnection | undefined {
  let found: ClientConnection | undefined
  let foundRank = Number.POSITIVE_INFINITY
  for (const connection of connections) {
    const rank = idleRank(connection)
    if (rank === undefined || rank > foundRank) continue
    if (found !== undefined && rank === foundRank && connection.usedAt > found.usedAt) continue
    found = connection
    foundRank = rank
  }
  return found
}

/** The lowest goes first; nothing for a connection that is worked for. */
function idleRank(connection: ClientConnection): number | undefined {
  if (!connection.busy) return connection.socket.writableLength === 0 ? 0 : 2
  return connection.onlyReads ? 1 : undefined
}

function isOver(limit_s: number, passed_s: number): boolean {
  return limit_s > 0 && passed_s >= limit_s
}

function readsTooSlowly(connection: ClientConnection, now: number, limit_s: number): boolean {
  const { facts, socket, reading } = connection
  if (reading === undefined) {
    facts.reading = undefined
    return false
  }
  if (facts.reading?.call !== reading) facts.reading = { call: reading, since: now, from_bytes: socket.bytesRead }
  // While nothing is read the client cannot send.
  if (connection.paused) facts.reading.since += 1
  const earned_s = (socket.bytesRead - facts.reading.from_bytes) / bodyRate_bytes
  return isOver(limit_s, now - facts.reading.since - earned_s)
}

/** The bytes that wait in Node and in the system's calls; what the kernel has taken is sent. */
function unsentBytes(socket: Socket): number {
  if (socket.writableLength === 0) return 0
  return socket.writableLength + queuedBytes(socket)
}

/** One large write moves only there, for which Node has no public name. */
function queuedBytes(socket: Socket): number {
  const handle: unknown = '_handle' in socket ? socket._handle : undefined
  if (typeof handle !== 'object' || handle === null || !('writeQueueSize' in handle)) return 0
  return typeof handle.writeQueueSize === 'number' ? handle.writeQueueSize : 0
}

/** Lowers the number of connections to what the descriptors of the process allow, with a line that says so. */
export function fitDescriptors(limit: ConnectionLimit, log: Log): void {
  const found = connectionsWithinDescriptors()
  if (found === undefined || found.connections >= limit.limit) return
  const { connections, descriptors } = found
  log.warn(
    'http:listen',
    `${connections} connections at a time instead of ${limit.limit} (-maxConnections): the process may have ${descriptors} open files (ulimit -n)`,
  )
  limit.lower(connections)
}

/** The part of the descriptors that is left to threads, files and connections to others. */
const reserve = 1 / 4

/**
 * How many connections the process can accept and still open its files and send notifications; nothing where the system
 * does not say how many descriptors a process may have.
 */
function connectionsWithinDescriptors(): { readonly connections: number; readonly descriptors: number } | undefined {
  try {
    const [, limit] = /^Max open files +(\d+) /m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    if (limit === undefined) return undefined
    const descriptors = Number(limit)
    const taken = readdirSync('/proc/self/fd').length
    return { connections: Math.max(1, Math.floor(descriptors * (1 - reserve)) - taken), descriptors }
  } catch {
    return undefined // No such file: not Linux.
  }
}
