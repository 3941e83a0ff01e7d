import type { ApiRequest } from '../api.js'
import type { Facts, LineContext, Log } from '../log/log.js'
import { lineContextOf } from '../log/log.js'

/** Logs what somebody changed through the management interface [management 10.1, 2.5: 242]. */
export function logChange(log: Log, request: ApiRequest, message: string, facts: Facts = {}): void {
  const context = lineContext(request)
  log.info('management:change', message, facts, context)
  log.trace('admin', `${request.verb}: ${message}`, facts, context)
}

/** On whose behalf a line is written, as far as the request's head says it [management 10.3]. */
export function lineContext({ correlator, headers }: ApiRequest): LineContext {
  return lineContextOf(correlator, headers)
}
