import type { Log } from '../../log/log.js'
import type { Result } from '../../result.js'
import type { Steps } from '../../slices.js'
import { traceArea } from '../../trace-area.js'
import { detailsOfPayload } from '../render/payload-errors.js'
import type { PayloadRefusal } from './payload-refusal.js'

const areas = ['parse', 'parse.check', 'parse.dump'] as const

/** Whether somebody traces how payloads are parsed. */
export function isParseTraced(log: Log | undefined): boolean {
  return areas.some((area) => log?.traces[traceArea[area]] === 1)
}

/** Parses a payload. Traces how long that took, the check that failed, and what the broker has understood. */
export function* parseTraced<Payload, Refusal extends PayloadRefusal>(
  log: Log | undefined,
  body: string,
  parse: Steps<Result<Payload, Refusal>>,
): Steps<Result<Payload, Refusal>> {
  if (!isParseTraced(log)) return yield* parse
  const since = process.hrtime.bigint()
  const result = yield* parse
  const duration_ns = String(process.hrtime.bigint() - since)
  const bytes = Buffer.byteLength(body)
  log?.trace('parse', `${bytes} bytes read`, { bytes, duration_ns })
  if (!result.ok) log?.trace('parse.check', detailsOfPayload(result.error))
  else if (log?.traces[traceArea['parse.dump']] === 1) log.trace('parse.dump', dumpOf(result.value))
  return result
}

/** As JSON: in the quotation marks of a text the log finds the secrets of a URL, whatever stands in it. */
function dumpOf(payload: unknown): string {
  return String(JSON.stringify(payload, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value)))
}
