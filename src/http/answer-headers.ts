import type { ApiResponse } from '../api.js'
import { type Head, verbsOf } from './checks.js'
import type { ServerContext } from './server-context.js'

/** What the headers of an answer say besides what the answer itself has. */
export interface AnswerFacts {
  readonly correlator: string
  readonly head: Head
  readonly body: string
  readonly body_bytes: number
  /** Whether the connection is closed after it. */
  readonly closes: boolean
}

/** The headers of an answer, names and values in turn [management 11.1, 11.2, 11.6]. */
export function answerHeaders(
  { rules }: Pick<ServerContext, 'rules'>,
  answer: ApiResponse,
  facts: AnswerFacts,
): string[] {
  const headers = ['Fiware-Correlator', facts.correlator]
  if (facts.body !== '') headers.push('Content-Type', answer.contentType ?? 'application/json')
  if (answer.status !== 204) headers.push('Content-Length', String(facts.body_bytes))
  for (const name in answer.headers) headers.push(name, answer.headers[name] ?? '')
  if (rules.cors.on) headers.push(...corsHeaders(rules, answer.status, facts.head))
  if (facts.closes) headers.push('Connection', 'close')
  return headers
}

function corsHeaders(
  { cors }: ServerContext['rules'],
  status: number,
  { target, verb, headers }: Head,
): readonly string[] {
  const verbs = target.route === undefined ? [] : verbsOf(target.route.resource)
  return cors.headers({ kind: target.kind, verb, status, origin: headers.origin, verbs })
}
