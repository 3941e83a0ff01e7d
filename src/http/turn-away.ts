import type { IncomingMessage, ServerResponse } from 'node:http'
import { overloaded } from './errors.js'
import { announcedBody, correlatorOf, single } from './headers.js'
import type { ServerContext } from './server-context.js'
import { kinds, type Target } from './target.js'

/** In which head and body can be written as one text. */
const plain = /^[\x20-\x7e]*$/

/**
 * Refuses a request in overload when nothing but its head has come, and says whether it did. Usually a refusal
 * costs this thread three quarters of what an update costs it; here it is less than half. So only what is plain is
 * refused here: a response that is written at once, with nothing to log about it. All other requests are refused in the same way later.
 */
export function turnAway(
  context: ServerContext,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  target: Target,
): boolean {
  const { admission, rules, meter, policy, access } = context
  if (!isPlain(context, incoming, outgoing)) return false
  const { method: verb = '', headers } = incoming
  const operations: Readonly<Record<string, { readonly use: string } | undefined>> | undefined =
    target.route?.resource.operations
  const use = operations?.[verb]?.use
  const request_bytes = announcedBody(headers)
  if (use === undefined || kinds[target.kind].isManagement || (policy !== 'all' && policy !== use)) return false
  if (request_bytes === undefined || request_bytes > rules.maxBody_bytes || !admission.isOverloaded) return false
  // Whoever has no key is told so later, with a line in the log: to them it is not said that there is overload.
  if (access?.lacksKey({ target, verb, headers })) return false
  const tooMuch = access?.tooMuch({ target, verb, headers }, process.hrtime.bigint())
  if (tooMuch === undefined) admission.countRefusal()
  else meter.rejected('rate_limit')
  const { status, body, headers: more } = tooMuch ?? overloaded(target.kind, 'too many requests are waiting')
  const text = String(body)
  meter.requestBegun()
  meter.responded({
    resource: target.route?.resource,
    verb,
    status,
    request_bytes,
    response_bytes: text.length,
    duration: 0n,
    service: single(headers['fiware-service']),
    servicePath: single(headers['fiware-servicepath']),
  })
  const fields = ['Fiware-Correlator', correlatorOf(headers), 'Content-Type', 'application/json']
  for (const name in more) fields.push(name, more[name] ?? '')
  outgoing.writeHead(status, [...fields, 'Content-Length', String(text.length)])
  outgoing.end(text)
  meter.requestEnded()
  return true
}

/** Whether a refusal needs nothing but to be written: not behind another response, not with what CORS or the log want to say. */
function isPlain(
  { rules, log, stopping }: ServerContext,
  { headers }: IncomingMessage,
  outgoing: ServerResponse,
): boolean {
  if (stopping || outgoing.socket === null || rules.cors.on) return false
  if (headers.host === undefined || headers.expect !== undefined) return false
  if (!plain.test(single(headers['fiware-correlator']) ?? '')) return false
  return !log.shows('INFO') && !log.traces.includes(1)
}
