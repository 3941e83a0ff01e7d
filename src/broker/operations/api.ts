import type { IncomingHttpHeaders } from 'node:http'
import { endsHere, hasPassedMany } from '../../hosts.js'
import type { PathRange } from '../../model/context/query.js'
import type { Origin } from '../../model/context/update.js'
import type { StageSums } from '../../observe/measure/requests.js'
import type { OperationTimes } from '../../observe/measure/slow-requests.js'
import type { Result } from '../../result.js'

/**
 * The contract of the HTTP layer and the interfaces (`ngsi1`, `ngsi2`, `management`): a request whose head has passed its checks
 * and whose body has been read, and its response.
 */
export interface ApiRequest {
  readonly verb: Verb
  /** Decoded path segments for the placeholders of the resource's pattern, by name. */
  readonly segments: Readonly<Record<string, string>>
  /** URI parameters, decoded; a parameter without a value has the empty text. */
  readonly parameters: ReadonlyMap<string, string>
  readonly headers: IncomingHttpHeaders
  /** The paths of Fiware-ServicePath, its syntax checked; empty without the header [context 5.2]. */
  readonly paths: readonly PathRange[]
  /** Empty without a body. */
  readonly body: string
  readonly correlator: string
  readonly client: Client
}

/** The text for a placeholder of the resource's pattern; throws if the pattern lacks it. */
export function segment({ segments }: Pick<ApiRequest, 'segments'>, name: string): string {
  const text = segments[name]
  if (text === undefined) throw new Error(`the path has no segment ${name}`)
  return text
}

/**
 * The parts of a request that the notifications it causes pass on [subscriptions 4.1]; `brokerId` names this broker in `Via`. A custom
 * notification may be meant for the broker that sends it, to update another entity: it ends at its own entity [NGSIv2 subscriptions 4.4].
 */
export function requestOrigin(
  { correlator, headers }: Pick<ApiRequest, 'correlator' | 'headers'>,
  brokerId: string,
): Origin {
  const { 'x-auth-token': given, 'fiware-service': named, via, 'ngsiv2-attrsformat': format } = headers
  const token = typeof given === 'string' ? given : ''
  const service = typeof named === 'string' && named !== '' ? named.toLowerCase() : undefined
  const isCustom = format === 'custom' ? true : undefined
  const ends = isCustom ? hasPassedMany(via) : endsHere(via, brokerId)
  return { correlator, token, service, via: ends ? undefined : via, ends: ends ? true : undefined, isCustom }
}

/** In characters: parsing a longer body at once could block the thread too long. */
export const shortBody = 64 * 1024

/** Whether a body is parsed in slices. Later requests on its connection wait, so that the order is kept. */
export function isLong(body: string): boolean {
  return body.length > shortBody
}

/** The client that waits for the response. */
export interface Client {
  /** Whether the connection was closed before there was a response. */
  readonly gone: boolean
  /** Whether the request may use what is reserved for the broker's own machine, or for holders of the token [management 13]. */
  readonly isTrusted: boolean
  /** Calls back when the client goes; never if it is gone already or the response comes first. */
  whenGone(act: () => void): void
  /** Takes memory for a large response until it is sent; false when responses hold as much as they may. */
  hold(bytes: number): boolean
  /** Records what the operation waits for; undefined unless slow requests are recorded. */
  readonly times: OperationTimes | undefined
  /** Records how long the stages of the request take; undefined unless they are timed. */
  readonly timed?: StageSums | undefined
  /** Gives the request's permit back while it waits for something, and takes another one to go on. */
  aside<Result>(wait: () => Promise<Result>): Promise<Result>
}

export type Verb = 'GET' | 'POST' | 'PUT' | 'DELETE' | 'PATCH' | 'HEAD' | 'OPTIONS'

/**
 * A body that is made while it is sent: the next piece is asked for when the client has taken those before. `gone` is aborted
 * when the client takes no more. An exception closes the connection, so that the client sees that the body is incomplete.
 * `halfClosed` is aborted when the client has closed its sending half: often it is gone, which only sending shows. `cut` closes the
 * connection, whatever of the body waits to be sent.
 */
export type BodyStream = (gone: AbortSignal, halfClosed: AbortSignal, cut: () => void) => AsyncIterable<Uint8Array>

export interface ApiResponse {
  readonly status: number
  /** A text, or a function that renders it: rendering is timed separately [management 4.5]. */
  readonly body?: string | (() => string)
  /** In place of a text. It is sent chunked, unless the headers give its length. */
  readonly stream?: BodyStream
  /** `application/json` by default. */
  readonly contentType?: string
  readonly headers?: Readonly<Record<string, string>>
  /** The codes of the errors in the body, one for each failed part; absent: that of HTTP. */
  readonly errors?: readonly string[]
  /** Counts in the memory of large responses although it is of the management: clients choose how long it is, and everybody may ask for it. */
  readonly isCounted?: boolean
}

/** The work of a request whose payload has passed its checks and which has been counted [management 4.3]. */
export type Work = () => ApiResponse | Promise<ApiResponse>

/**
 * Work that checks the payload itself. It gives an error response when the payload is refused; otherwise the request is counted
 * when the response is there.
 */
export interface UncheckedWork {
  readonly run: () => Promise<Result<ApiResponse, ApiResponse>>
}

/** The work of a request, or the response to a refused payload. */
export type Prepared = Result<Work | UncheckedWork, ApiResponse>

/** How an operation uses the broker, for the policy of the request semaphore [management 5.2]. */
export type Use = 'read' | 'write'

/** The operation of one verb on a resource. */
export interface Operation {
  readonly use: Use
  /** Checks the request and changes nothing; only the work that it gives may change data. */
  readonly prepare: (request: ApiRequest) => Prepared | Promise<Prepared>
  /** Whether a GET with these parameters changes something: it then needs the rights of other verbs [management 13]. */
  readonly changes?: (parameters: ReadonlyMap<string, string>) => boolean
  /** The operation's own form of the errors 411 and 413, which are found before the payload [management 11.3]. */
  readonly wrapStatus?: (status: StatusText) => unknown
}

/** The status object of NGSIv1: all texts; `details` is absent when it would be empty [context 1.1]. */
export interface StatusText {
  readonly code: string
  readonly reasonPhrase: string
  readonly details?: string
}

/** A row of an interface's table, which determines routing, the Allow header and the counters. */
export interface Resource {
  /** The pattern for routing and counting, for example `/v1/contextEntities/{id}/attributes/{name}` [management 4.5]. */
  readonly pattern: string
  /** The name it is counted under, where several patterns share one: `/log/trace[/{level}]` [management 4.5]. */
  readonly countedAs?: string
  /** Other patterns of the same resource, with the same placeholders. */
  readonly aliases?: readonly string[]
  /** Whether fixed segments are compared case-insensitively [management 1]. */
  readonly anyCase: boolean
  /** The counter of every request on this resource; absent for resources that machines poll [management 4.4]. */
  readonly counter?: string
  /** Polled by machines, or loaded by browsers: not counted at all [management 4.4]. */
  readonly polled?: boolean
  /**
   * For people instead of programs: `everybody`, as part of the console, or only `navigation` in a browser, which is a `GET` that
   * accepts `text/html`.
   */
  readonly forPeople?: 'everybody' | 'navigation'
  /** Whether GET is answered with a stream of events, which clients ask for as `text/event-stream`; POST has no body there. */
  readonly givesEvents?: boolean
  /** In the order of the Allow header. */
  readonly operations: Partial<Readonly<Record<Verb, Operation>>>
  /** The order of the verbs for pages of other origins, where it differs [management 11.6]. */
  readonly sharedOrder?: readonly Verb[]
}

/**
 * An interface for clients as the HTTP layer sees it: its resources, and its own treatment of requests before the resource is
 * known [management 11.4].
 */
export interface Interface {
  readonly resources: readonly Resource[]
  /** The service paths of a request, or the response to a malformed header. */
  readonly parseServicePaths: (header: string | undefined, verb: string) => Result<readonly PathRange[], ApiResponse>
  /** The response to malformed URI parameters, on known and unknown paths alike. */
  readonly checkParameters: (parameters: ReadonlyMap<string, string>) => ApiResponse | undefined
  /** The response to a path, given by its decoded segments, that is no resource, whatever the method. */
  readonly unknownPath: (segments: readonly string[], method: string) => ApiResponse
  /** Whether paths take and give plain text beside JSON: those of a resource, by its pattern, or one that is no resource. */
  readonly isOfText: (path: string) => boolean
  /** What pages of other origins may use: every response, with OPTIONS as a verb; or responses to GET [management 11.6]. */
  readonly shares: 'everything' | 'reads'
  /** The stage under which parsing a payload is timed [management 4.5]. */
  readonly parseStage: 'jsonV1Parse' | 'jsonV2Parse'
}
