import type { ApiRequest } from '../api/api.js'
import { type Facts, type Log, lineContextOf } from '../log/log.js'

/** Logs what a refusal whose text is fixed does not say: what is known instead. */
export function logRefusal(log: Log, request: ApiRequest, refused: string, known: readonly string[]): void {
  log.info('management:refused', `${refused}: known are ${known.join(', ')}`, {}, lineContextOf(request))
}

/** Logs what somebody changed through the management interface [management 10.1, 2.5: 242]. */
export function logChange(log: Log, request: ApiRequest, message: string, facts: Facts = {}): void {
  const context = lineContextOf(request)
  log.info('management:change', message, facts, context)
  log.trace('admin', `${request.verb}: ${message}`, facts, context)
}
