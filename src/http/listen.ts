import { createPrivateKey, X509Certificate } from 'node:crypto'
import type { RequestListener, Server } from 'node:http'
import { createServer, type ServerOptions, type Server as TlsServer } from 'node:https'
import type { ListenOptions, Socket } from 'node:net'
import { createSecureContext } from 'node:tls'
import { systemFaultText } from '../faults.js'
import type { Options } from '../flags/settings.js'
import type { Log } from '../observe/log/log.js'
import { err, ok, type Result } from '../result.js'
import { readTextFile } from '../text-file.js'
import type { Milliseconds } from '../time.js'
import type { InputTurns } from './held-requests.js'

/** Key and certificate, as PEM. */
export interface Tls {
  readonly key: string
  readonly cert: string
}

/** What listens. */
interface Listening {
  readonly server: Server
}

/** Why a front end can not listen [management 9.5]. */
export type ListenRefusal =
  | { readonly kind: 'portInUse'; readonly port: number }
  | { readonly kind: 'portUnusable'; readonly port: number; readonly reason: string }
  | CertificateRefusal
  | { readonly kind: 'keysUnusable'; readonly reason: string }

interface CertificateRefusal {
  readonly kind: 'certificateUnusable'
  readonly reason: string
}

/** A key and its certificate: the names of their flags, or their paths. */
interface PairNames {
  readonly key: string
  readonly cert: string
}

/** Reads key and certificate, and tries whether they can be used. */
export async function readTls(
  https: Options['https'],
  names: PairNames = { key: 'key', cert: 'cert' },
): Promise<Result<Tls | undefined, CertificateRefusal>> {
  if (https === undefined) return ok(undefined)
  const key = readPem(names.key, https.key)
  const cert = readPem(names.cert, https.cert)
  if (!key.ok) return key
  if (!cert.ok) return cert
  const tls = { key: key.value, cert: cert.value }
  const wrong = pairFault(tls, https, names)
  return wrong === undefined ? ok(tls) : err({ kind: 'certificateUnusable', reason: wrong })
}

/** Reads a file in PEM form; a refusal names its flag. */
export function readPem(flag: string, path: string): Result<string, CertificateRefusal> {
  try {
    return ok(readTextFile(path))
  } catch (fault) {
    return err({ kind: 'certificateUnusable', reason: `-${flag}: '${path}' cannot be read: ${systemFaultText(fault)}` })
  }
}

/** Why key and certificate cannot be used together; nothing when they can. */
function pairFault(tls: Tls, paths: PairNames, { key, cert }: PairNames): string | undefined {
  const isKey = succeeds(() => createPrivateKey(tls.key))
  if (!isKey) return `-${key}: '${paths.key}' is no private key in PEM form without a password`
  if (!succeeds(() => new X509Certificate(tls.cert))) return `-${cert}: '${paths.cert}' is no certificate in PEM form`
  if (!new X509Certificate(tls.cert).checkPrivateKey(createPrivateKey(tls.key))) {
    return `-${key}: '${paths.key}' is not the key of the certificate '${paths.cert}' (-${cert}): give the two that belong together`
  }
  try {
    createSecureContext(tls)
    return undefined
  } catch (fault) {
    return `-${key}: '${paths.key}' and -${cert}: '${paths.cert}' cannot be used: ${systemFaultText(fault)}`
  }
}

function succeeds(attempt: () => unknown): boolean {
  try {
    attempt()
    return true
  } catch {
    return false
  }
}

/** When a certificate expires. */
export function validUntil({ cert }: Tls): Milliseconds {
  return Date.parse(new X509Certificate(cert).validTo) as Milliseconds
}

interface Host {
  readonly host: string
  readonly ipv6Only: boolean
}

/** A socket to open, on the first of the hosts that the system has, or one that is open. */
export type ListenAddress = { readonly port: number; readonly hosts: readonly Host[] } | { readonly fd: number }

/** The addresses to listen on, the ones to fall back to after them [management 11.8]. */
export function hostsOf({ localIp, family }: Pick<Options, 'localIp' | 'family'>): readonly Host[] {
  if (localIp !== undefined) return [{ host: localIp, ipv6Only: family === 'ipv6' }]
  const ipv4 = { host: '0.0.0.0', ipv6Only: false }
  if (family === 'ipv4') return [ipv4]
  if (family === 'ipv6') return [{ host: '::', ipv6Only: true }]
  return [{ host: '::', ipv6Only: false }, ipv4]
}

/** Opens the socket, or accepts on the one that is open; nothing when that worked. */
export async function listen(listener: Listening, where: ListenAddress, log: Log): Promise<ListenRefusal | undefined> {
  if ('fd' in where) {
    const fault = await tryListen(listener, { fd: where.fd })
    return fault && { kind: 'portUnusable', port: 0, reason: fault.message }
  }
  const { port, hosts } = where
  for (const [index, { host, ipv6Only }] of hosts.entries()) {
    const fault = await tryListen(listener, { port, host, ipv6Only })
    if (fault === undefined) {
      log.trace('http.listen', `listening on ${host} port ${port}`)
      return undefined
    }
    if (fault.code === 'EADDRINUSE') return { kind: 'portInUse', port }
    if (!withoutIpv6.has(fault.code ?? '') || index === hosts.length - 1) {
      return { kind: 'portUnusable', port, reason: unusableText(fault, port, host) }
    }
    log.warn('http:listen', `no IPv6 here (${fault.message}): listening on IPv4 only`)
  }
  return undefined
}

function unusableText(fault: NodeJS.ErrnoException, port: number, host: string): string {
  if (fault.code === 'EACCES' && port < 1024) {
    return 'ports below 1024 need root or CAP_NET_BIND_SERVICE (EACCES): use another one, such as 1026'
  }
  return `on ${host}: ${systemFaultText(fault)}`
}

const withoutIpv6: ReadonlySet<string> = new Set(['EAFNOSUPPORT', 'EADDRNOTAVAIL'])

function tryListen(
  { server }: Listening,
  options: ListenOptions | { readonly fd: number },
): Promise<NodeJS.ErrnoException | undefined> {
  return new Promise((resolve) => {
    const failed = (fault: NodeJS.ErrnoException) => {
      server.off('listening', listening)
      resolve(fault)
    }
    const listening = () => {
      server.off('error', failed)
      if ('fd' in options) afterPoll(() => resolve(undefined))
      else resolve(undefined)
    }
    server.once('error', failed)
    server.once('listening', listening)
    server.listen(options)
  })
}

/**
 * Goes on when the event loop has polled once more. It enters a descriptor in its list when it polls, and the process is
 * aborted if whoever shared it has closed it by then: until it has polled nobody may be told that it listens.
 */
function afterPoll(go: () => void): void {
  // The first comes after the poll under way, which began before the descriptor was there; the second after the next.
  setImmediate(() => setImmediate(go))
}

/**
 * A server over TLS. It reads through the streams of its sockets, which the listener for data brings about: else Node's parser takes the
 * pieces of a read as they are decrypted, also those behind the one at which it was paused because pipelined responses pile up, and
 * reports these as malformed.
 */
export function createTlsServer(options: ServerOptions, serve: RequestListener): TlsServer {
  const server = createServer(options, serve)
  server.on('secureConnection', (socket) => socket.on('data', () => {}))
  return server
}

/**
 * Takes over what Node does with each socket that a server has accepted: it begins a TLS handshake, or has requests parsed. Gives what does so.
 */
export function takeConnections(server: Server): (socket: Socket) => void {
  const begin = server.listeners('connection')
  server.removeAllListeners('connection')
  return (socket) => {
    for (const each of begin) Reflect.apply(each, server, [socket])
  }
}

/**
 * Begins a TLS handshake when the client has sent something, and when the turn of the event loop has time for it: to sign takes more than a
 * millisecond with a key of RSA, and a thousand clients may connect at once.
 */
export function beginWhenHeard(socket: Socket, turns: Pick<InputTurns, 'begin'>, begin: () => void): void {
  socket.on('error', () => socket.destroy())
  // Whoever ends its sending half before the handshake cannot finish it. Once TLS reads the socket, this one sees no end.
  socket.once('end', () => socket.destroy())
  socket.once('readable', () => {
    turns.begin(() => {
      if (socket.readableLength === 0) socket.destroy()
      else if (!socket.destroyed) begin()
    })
  })
}

/**
 * Waits for no more connections. A socket that another thread has opened ends when that closes it: to close it here as well would take
 * the descriptor from all threads, or a newer one that has the same number.
 */
export function stopListening({ server }: Listening, isShared: boolean): void {
  if (isShared) server.unref()
  else server.close()
}

/** The descriptor of a listening socket, for which Node has no public name. */
export function descriptorOf(listener: Listening | undefined): number {
  const server: unknown = listener?.server
  if (typeof server === 'object' && server !== null && '_handle' in server) {
    const handle = server._handle
    if (typeof handle === 'object' && handle !== null && 'fd' in handle && typeof handle.fd === 'number') {
      return handle.fd
    }
  }
  throw new Error('the listening socket has no descriptor')
}

/** The key of a peer, which is equal for a connection and for the TLS on it. */
export function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`
}
