import type { IncomingHttpHeaders } from 'node:http'
import { endsHere } from '../../hosts.js'
import type { PathRange } from '../../model/context/query.js'
import type { Origin } from '../../model/context/update.js'
import type { StageSums } from '../../observe/measure/requests.js'
import type { OperationTimes } from '../../observe/measure/slow-requests.js'
import type { Result } from '../../result.js'

/**
 * What the HTTP layer and the interfaces (`ngsi1`, `ngsi2`, `management`) say to each other: a request that has passed the checks
 * of its head and has been read, and what is to be answered.
 */
export interface ApiRequest {
  readonly verb: Verb
  /** Decoded path segments that stand for the placeholders of the resource's pattern, by name. */
  readonly segments: Readonly<Record<string, string>>
  /** URI parameters, decoded; one with an empty value is there with the empty text. */
  readonly parameters: ReadonlyMap<string, string>
  readonly headers: IncomingHttpHeaders
  /** The paths of Fiware-ServicePath, its syntax checked; empty without the header [context 5.2]. */
  readonly paths: readonly PathRange[]
  /** Empty without a body. */
  readonly body: string
  readonly correlator: string
  readonly client: Client
}

/** The text that stands for a placeholder of the resource's pattern; asking for one that it lacks is a fault. */
export function segment({ segments }: Pick<ApiRequest, 'segments'>, name: string): string {
  const text = segments[name]
  if (text === undefined) throw new Error(`the path has no segment ${name}`)
  return text
}

/** What the notifications that a request causes tell of it [subscriptions 4.1]; `brokerId` names this broker in `Via`. */
export function requestOrigin(
  { correlator, headers }: Pick<ApiRequest, 'correlator' | 'headers'>,
  brokerId: string,
): Origin {
  const { 'x-auth-token': given, 'fiware-service': named, via, 'ngsiv2-attrsformat': format } = headers
  const token = typeof given === 'string' ? given : ''
  const service = typeof named === 'string' && named !== '' ? named.toLowerCase() : undefined
  const ends = via !== undefined && endsHere(via, brokerId)
  const isCustom = format === 'custom' ? true : undefined
  return { correlator, token, service, via: ends ? undefined : via, ends: ends ? true : undefined, isCustom }
}

/** In characters: reading a longer body could hold the thread too long. */
const shortBody = 64 * 1024

/** Whether a body is read in slices. What follows it on its connection waits, so that it keeps its place. */
export function isLong(body: string): boolean {
  return body.length > shortBody
}

/** Who waits for the response. */
export interface Client {
  /** Whether the connection has closed before there was a response: nobody waits for one any more. */
  readonly gone: boolean
  /** Whether the request may do and read what is for the broker's own machine, or for those who have the token [management 13]. */
  readonly isTrusted: boolean
  /** Called when that happens; not at all when it has happened or the response comes first. */
  whenGone(act: () => void): void
  /** Takes memory for a large response until it has left; false when responses hold as much as they may. */
  hold(bytes: number): boolean
  /** Where it is noted what the operation waits for; nothing unless slow requests are kept. */
  readonly times: OperationTimes | undefined
  /** Where it is noted how long the stages of the request take; nothing unless they are timed. */
  readonly timed?: StageSums | undefined
  /** Waits for something with the request's permit given back, and takes another one to go on. */
  aside<Result>(wait: () => Promise<Result>): Promise<Result>
}

export type Verb = 'GET' | 'POST' | 'PUT' | 'DELETE' | 'PATCH' | 'HEAD' | 'OPTIONS'

/**
 * A body that is made while it is sent, piece by piece: the next one is asked for when the client has taken those before.
 * `gone` is aborted when nobody takes them any more. A fault ends the connection, so that the client knows that
 * something is missing. `halfClosed` is aborted when the client has closed its sending half: often it has gone, which is only found out by
 * sending.
 */
export type BodyStream = (gone: AbortSignal, halfClosed: AbortSignal) => AsyncIterable<Uint8Array>

export interface ApiResponse {
  readonly status: number
  /** A text, or what renders it: rendering is timed apart [management 4.5]. */
  readonly body?: string | (() => string)
  /** In place of a text. Its length goes out in pieces, unless the headers say it. */
  readonly stream?: BodyStream
  /** `application/json` unless something else is said. */
  readonly contentType?: string
  readonly headers?: Readonly<Record<string, string>>
  /** The codes of the errors that the body reports, one for each part that failed; that of HTTP where there are none. */
  readonly errors?: readonly string[]
}

/** What is left to do when a request's payload has passed its checks and the request has been counted [management 4.3]. */
export type Work = () => ApiResponse | Promise<ApiResponse>

/**
 * Work on a payload that is checked where the work is done. It gives a response as an error when the payload is refused;
 * otherwise the request is counted when the response is there.
 */
export interface UncheckedWork {
  readonly run: () => Promise<Result<ApiResponse, ApiResponse>>
}

/** A request that is ready for its work, or the response to a payload that is refused. */
export type Prepared = Result<Work | UncheckedWork, ApiResponse>

/** How an operation uses the broker, for the request semaphore's policy [management 5.2]. */
export type Use = 'read' | 'write'

/** What one verb of a resource does. */
export interface Operation {
  readonly use: Use
  /** Checks the request and changes nothing; what the operation changes is changed by the work that it gives. */
  readonly prepare: (request: ApiRequest) => Prepared | Promise<Prepared>
  /** Whether a GET with these parameters changes something: it then needs what other verbs need [management 13]. */
  readonly changes?: (parameters: ReadonlyMap<string, string>) => boolean
  /** Wraps the errors 411 and 413, which are found before the payload, where the operation reports its errors [management 11.3]. */
  readonly wrapStatus?: (status: StatusText) => unknown
}

/** The status object of NGSIv1: all texts, `details` absent when there is nothing to say [context 1.1]. */
export interface StatusText {
  readonly code: string
  readonly reasonPhrase: string
  readonly details?: string
}

/** A resource: one row of an interface's table, from which routing, the Allow header and the counters come. */
export interface Resource {
  /** As it is routed and counted, for example `/v1/contextEntities/{id}/attributes/{name}` [management 4.5]. */
  readonly pattern: string
  /** The name it is counted under, where several patterns share one: `/log/trace[/{level}]` [management 4.5]. */
  readonly countedAs?: string
  /** Other patterns that mean the same resource, with the same names of placeholders. */
  readonly aliases?: readonly string[]
  /** Whether fixed segments are compared without regard to case [management 1]. */
  readonly anyCase: boolean
  /** The counter of every request on this resource; none for what machines poll [management 4.4]. */
  readonly counter?: string
  /** Polled by machines, or loaded by browsers: not counted at all [management 4.4]. */
  readonly polled?: boolean
  /** Who it is for, if not for programs: everybody, as part of the console; or navigation in a browser only, `GET` that accepts `text/html`. */
  readonly forPeople?: 'everybody' | 'navigation'
  /** Whether GET is answered with a stream of events, which clients ask for as `text/event-stream`; POST has no body there. */
  readonly givesEvents?: boolean
  /** In the order of the Allow header. */
  readonly operations: Partial<Readonly<Record<Verb, Operation>>>
  /** The order in which pages of other origins are told of the verbs, where it is another one [management 11.6]. */
  readonly sharedOrder?: readonly Verb[]
}

/**
 * An interface for clients as the HTTP layer knows it: its resources, and what it does in its own way with each request
 * before it is known which resource is meant [management 11.4].
 */
export interface Interface {
  readonly resources: readonly Resource[]
  /** The service paths of a request, or the response to a malformed header. */
  readonly parseServicePaths: (header: string | undefined, verb: string) => Result<readonly PathRange[], ApiResponse>
  /** The response to URI parameters that are wrong in themselves, on known and unknown paths alike. */
  readonly checkParameters: (parameters: ReadonlyMap<string, string>) => ApiResponse | undefined
  /** The response to a path, given by its decoded segments, that is none of the resources, whatever the method. */
  readonly unknownPath: (segments: readonly string[], method: string) => ApiResponse
  /** Whether plain text is taken and given on a path, beside JSON, known or not. */
  readonly isOfText: (path: string) => boolean
  /** What is shared with pages of other origins: every response, and OPTIONS is a verb; or responses to GET [management 11.6]. */
  readonly shares: 'everything' | 'reads'
  /** As which stage the reading of a payload is timed [management 4.5]. */
  readonly parseStage: 'jsonV1Parse' | 'jsonV2Parse'
}
