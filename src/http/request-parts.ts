import type { IncomingMessage } from 'node:http'
import type { StageSums } from '../measure/requests.js'
import type { Nanoseconds } from '../time.js'
import type { ClientConnection } from './connections.js'
import type { Head } from './headers.js'
import type { RequestLife } from './request-life.js'
import type { RequestLog } from './request-log.js'
import type { Stages } from './request-stages.js'
import type { ResponseWriter } from './response-writer.js'
import type { ServerContext } from './server-context.js'

/** One request and its response: what `Call`, `RequestReader` and `ResponseSender` share. */
export interface RequestParts {
  readonly context: ServerContext
  readonly connection: ClientConnection
  readonly incoming: IncomingMessage
  readonly head: Head
  readonly writer: ResponseWriter
  readonly life: RequestLife
  readonly log: RequestLog
  /** Undefined unless the log line of the request shows them. */
  readonly stages: Stages | undefined
  /** Undefined unless stages were timed when the request began. */
  readonly timed: StageSums | undefined
  readonly begun: Nanoseconds
}

/** Runs steps that are called from outside: parser, timers, promises. A fault ends this request and nothing else. */
export interface FaultGuard {
  guarded(step: () => void): void
  fail(fault: unknown): void
}
