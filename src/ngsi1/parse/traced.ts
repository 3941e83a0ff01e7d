import type { Log } from '../../log/log.js'
import type { Result } from '../../result.js'
import type { Steps } from '../../slices.js'
import { traceArea } from '../../trace-area.js'
import { detailsOfPayload } from '../render/payload-errors.js'
import type { PayloadRefusal } from './payload-refusal.js'

/** Parses a payload. Writes a line on how long that took and one on the check that failed, for those who trace them. */
export function* parseTraced<Payload, Refusal extends PayloadRefusal>(
  log: Log | undefined,
  body: string,
  parse: Steps<Result<Payload, Refusal>>,
): Steps<Result<Payload, Refusal>> {
  if (log?.traces[traceArea['parse']] !== 1 && log?.traces[traceArea['parse.check']] !== 1) return yield* parse
  const since = process.hrtime.bigint()
  const result = yield* parse
  const duration_ns = String(process.hrtime.bigint() - since)
  const bytes = Buffer.byteLength(body)
  log.trace('parse', `${bytes} bytes read`, { bytes, duration_ns })
  if (!result.ok) log.trace('parse.check', detailsOfPayload(result.error))
  return result
}
