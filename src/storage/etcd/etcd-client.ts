import {
  type CallOptions,
  type ChannelCredentials,
  Client,
  type ClientDuplexStream,
  credentials,
  Metadata,
  type ServiceError,
  status,
} from '@grpc/grpc-js'
import { faultText } from '../../faults.js'
import { err, ok, type Result } from '../../result.js'
import { readTextFile } from '../../text-file.js'
import type { EngineUnavailable } from './engine.js'
import { type Calls, type EtcdStreams, methods } from './etcd-protocol.js'

/** How etcd is reached. Plain data. */
export interface EtcdSettings {
  /** The members, either all as `http://host:port` or all as `https://host:port`. */
  readonly urls: readonly string[]
  /** Files of the authority that signed the members' certificates, and of this client's certificate and key. */
  readonly ca?: string | undefined
  readonly cert?: string | undefined
  readonly key?: string | undefined
  readonly user?: { readonly name: string; readonly password: string } | undefined
}

/** Why a call failed. */
export interface CallFault {
  readonly kind: 'unavailable' | 'full' | 'tooLarge' | 'compacted' | 'invalid' | 'refused'
  /** A sentence for the operator. */
  readonly reason: string
}

/** The fault of a call as what an engine reports. */
export function unavailable({ reason }: CallFault): EngineUnavailable {
  return { kind: 'unavailable', reason }
}

/** How long a call waits for its response. */
const usualDeadline_ms = 1000

const channelOptions = {
  // Room for the records that are read at once.
  'grpc.max_receive_message_length': 64 * 2 ** 20,
  'grpc.max_send_message_length': 8 * 2 ** 20,
  // A member that was away is asked again soon: the defaults go up to two minutes.
  'grpc.initial_reconnect_backoff_ms': 200,
  'grpc.max_reconnect_backoff_ms': 1000,
  'grpc.keepalive_time_ms': 5000,
  'grpc.keepalive_timeout_ms': 2000,
}

/** The part of the client that others use. */
export type EtcdCalls = Pick<EtcdClient, 'call' | 'open' | 'close'>

/** Calls the members of etcd in turn until one answers. */
export class EtcdClient {
  readonly #settings: EtcdSettings
  readonly #methods = methods()
  readonly #members: readonly Client[]
  readonly #deadline_ms: number
  /** The index of the current member. */
  #at = 0
  #token: string | undefined

  /** Throws when a file of the settings can not be read. The outcome of a call that takes longer than `deadline_ms` is not known. */
  constructor(settings: EtcdSettings, deadline_ms = usualDeadline_ms) {
    this.#settings = settings
    this.#deadline_ms = deadline_ms
    const secured = credentialsOf(settings)
    this.#members = settings.urls.map((url) => new Client(new URL(url).host, secured, channelOptions))
  }

  /**
   * Opens a stream to a member that knows a leader, with its first message. `ended` is called once, unless it is closed
   * before. Of a `limit_ms` it ends then.
   */
  open<Name extends keyof EtcdStreams>(
    name: Name,
    first: Parameters<EtcdStreams[Name]>[0],
    received: (response: ReturnType<EtcdStreams[Name]>) => void,
    ended: (fault: CallFault) => void,
    limit_ms = Number.POSITIVE_INFINITY,
  ): { close(): void } {
    const member = this.#at
    let isOver = false
    let stream: ClientDuplexStream<object, object> | undefined
    const fail = (fault: unknown): void => {
      if (isOver) return
      isOver = true
      ended(this.#failed(fault, member))
    }
    this.#opened(name, limit_ms).then((opened) => {
      stream = opened
      // The loader has made it as the protocol says.
      opened.on('data', (response) => isOver || received(response as ReturnType<EtcdStreams[Name]>))
      opened.on('error', fail)
      opened.on('end', () => fail(new Error('the stream has ended')))
      if (isOver) opened.cancel()
      else opened.write(first)
    }, fail)
    const close = (): void => {
      isOver = true
      stream?.cancel()
    }
    return { close }
  }

  /** Calls etcd. After a fault of a member nobody knows whether it has carried the call out; the next call goes to the next member. */
  async call<Name extends keyof Calls>(
    name: Name,
    request: Parameters<Calls[Name]>[0],
  ): Promise<Result<ReturnType<Calls[Name]>, CallFault>> {
    const member = this.#at
    try {
      const token = await this.#tokenFor(name)
      return ok(await this.#made(name, request, token))
    } catch (fault) {
      return err(this.#failed(fault, member))
    }
  }

  close(): void {
    for (const member of this.#members) member.close()
  }

  #failed(fault: unknown, member: number): CallFault {
    const error = faultOf(fault, this.#settings.urls[member] ?? '')
    // Whatever is wrong with the token, the password gives another one.
    if (error.kind === 'refused' || (isServiceError(fault) && fault.code === status.UNAUTHENTICATED)) {
      this.#token = undefined
    }
    if (error.kind === 'unavailable' && this.#at === member) this.#at = (member + 1) % this.#members.length
    return error
  }

  async #opened(name: keyof EtcdStreams, limit_ms: number): Promise<ClientDuplexStream<object, object>> {
    const metadata = metadataOf(await this.#tokenFor(name))
    // A member without a leader then ends the stream instead of staying silent.
    metadata.set('hasleader', 'true')
    const { path, requestSerialize, responseDeserialize } = this.#methods[name]
    const options = limit_ms === Number.POSITIVE_INFINITY ? {} : { deadline: Date.now() + limit_ms }
    return this.#member.makeBidiStreamRequest(path, requestSerialize, responseDeserialize, metadata, options)
  }

  get #member(): Client {
    const member = this.#members[this.#at]
    if (member === undefined) throw new Error('there is no member of etcd to ask')
    return member
  }

  async #tokenFor(name: keyof Calls | keyof EtcdStreams): Promise<string | undefined> {
    const { user } = this.#settings
    if (user === undefined || name === 'authenticate' || this.#token !== undefined) return this.#token
    const { token } = await this.#made('authenticate', user, undefined)
    this.#token = token
    return token
  }

  #made<Name extends keyof Calls>(
    name: Name,
    request: Parameters<Calls[Name]>[0],
    token: string | undefined,
  ): Promise<ReturnType<Calls[Name]>> {
    const member = this.#member
    const { path, requestSerialize, responseDeserialize } = this.#methods[name]
    const metadata = metadataOf(token)
    const options: CallOptions = { deadline: Date.now() + this.#deadline_ms }
    return new Promise((resolve, reject) => {
      member.makeUnaryRequest(
        path,
        requestSerialize,
        responseDeserialize,
        request,
        metadata,
        options,
        (fault: ServiceError | null, response?: object) => {
          // The loader has made it as the protocol says, with defaults for what was not sent.
          if (fault === null && response !== undefined) resolve(response as ReturnType<Calls[Name]>)
          else reject(fault ?? new Error('an empty response'))
        },
      )
    })
  }
}

function metadataOf(token: string | undefined): Metadata {
  const metadata = new Metadata()
  if (token !== undefined) metadata.set('token', token)
  return metadata
}

function credentialsOf({ urls, ca, cert, key }: EtcdSettings): ChannelCredentials {
  if (!urls.every((url) => url.startsWith('https:'))) return credentials.createInsecure()
  const read = (file: string | undefined): Buffer | null =>
    file === undefined ? null : Buffer.from(readTextFile(file))
  return credentials.createSsl(read(ca), read(key), read(cert))
}

function isServiceError(fault: unknown): fault is ServiceError {
  return fault instanceof Error && 'code' in fault && 'details' in fault
}

/** Codes after which the same call may succeed with another member, or a moment later. */
const passing: ReadonlySet<number> = new Set([
  status.UNAVAILABLE,
  status.DEADLINE_EXCEEDED,
  status.CANCELLED,
  status.ABORTED,
  status.INTERNAL,
  status.UNKNOWN,
  status.UNAUTHENTICATED,
])

/** Messages of the code for an invalid argument that concern the user: with another password or token the request may succeed. */
const isAboutUser = /auth|user/

function faultOf(fault: unknown, url: string): CallFault {
  if (!isServiceError(fault)) {
    return { kind: 'unavailable', reason: `etcd ${url}: ${faultText(fault)}` }
  }
  const { code, details } = fault
  const reason = `etcd ${url}${unreachedText(details) ?? `: ${details}`}`
  if (code === status.RESOURCE_EXHAUSTED) {
    if (details.includes('database space exceeded')) return { kind: 'full', reason }
    return { kind: details.includes('larger than max') ? 'tooLarge' : 'unavailable', reason }
  }
  if (code === status.INVALID_ARGUMENT && details.includes('request is too large')) return { kind: 'tooLarge', reason }
  if (code === status.INVALID_ARGUMENT && !isAboutUser.test(details)) return { kind: 'invalid', reason }
  if (code === status.OUT_OF_RANGE) return { kind: 'compacted', reason }
  return { kind: passing.has(code) ? 'unavailable' : 'refused', reason }
}

/** Why no member was reached, of what the library says about its connections; undefined for a text of etcd itself. */
function unreachedText(details: string): string | undefined {
  if (details.startsWith('Deadline exceeded after')) return ' does not answer in time'
  if (details.startsWith('Name resolution failed')) return ': the name of its host is not known'
  if (!details.startsWith('No connection established')) return undefined
  const [, last = ''] = details.split('Last error: ', 2)
  const error = (last.split('. Resolution note:', 1)[0] ?? '').replace(/^Error: /, '').trim()
  const code = /\bE[A-Z]{3,}\b/.exec(error)?.[0]
  if (code !== undefined) return ` does not answer (${code})`
  return error === '' || error === 'null' ? ' does not answer' : ` cannot be reached: ${error}`
}
