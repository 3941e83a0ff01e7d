import type { ApiRequest } from '../api.js'
import { type Facts, type Log, lineContextOf } from '../log/log.js'

/** Logs what somebody changed through the management interface [management 10.1, 2.5: 242]. */
export function logChange(log: Log, request: ApiRequest, message: string, facts: Facts = {}): void {
  const context = lineContextOf(request)
  log.info('management:change', message, facts, context)
  log.trace('admin', `${request.verb}: ${message}`, facts, context)
}
