import { compareBytes, type Value } from '../context/entity.js'
import { type Filler, onlyMacro, percentDecoded, type Unfilled } from '../expression/template.js'
import { err, ok, type Result } from '../result.js'
import { isTopic } from './mqtt-topic.js'
import { parseNotificationUrl } from './notification-url.js'

/** What a client says of the messages of `httpCustom`, with macros in its texts [NGSIv2 subscriptions 6.1]. */
export interface HttpTemplate {
  readonly url: string
  /** Names and values, as many as there are. */
  readonly query: readonly Pair[]
  readonly headers: readonly Pair[]
  readonly payload: PayloadTemplate
}

type Pair = readonly [name: string, value: string]

/** What a client says of the messages of `mqttCustom`. */
export interface MqttTemplate {
  readonly topic: string
  readonly payload: PayloadTemplate
}

/** What the body is made of; `usual` is what `http` would send, also of a patched entity [NGSIv2 subscriptions 6.2]. */
export type PayloadTemplate =
  | { readonly kind: 'usual' }
  | { readonly kind: 'none' }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'json'; readonly value: Value }

/** A message of `httpCustom`, filled in. */
export interface FilledHttp {
  readonly url: string
  /** By name in lower case; an empty value removes the header that would be sent otherwise. */
  readonly headers: ReadonlyMap<string, string>
  readonly body: FilledBody
}

/** A message of `mqttCustom`, filled in. */
export interface FilledMqtt {
  readonly topic: string
  readonly body: FilledBody
}

/** The body, and the type of its content unless a header says otherwise. */
export type FilledBody =
  | { readonly kind: 'usual' }
  | { readonly kind: 'custom'; readonly text: string; readonly contentType: string | undefined }

/** Why a message is dropped: also because it would be no legal request [NGSIv2 subscriptions 6.1]. */
export type Undeliverable =
  | Unfilled
  | { readonly kind: 'urlInvalid'; readonly url: string }
  | { readonly kind: 'headerInvalid'; readonly name: string }
  | { readonly kind: 'topicInvalid'; readonly topic: string }

/** Fills in what a message of `httpCustom` is made of [NGSIv2 subscriptions 6.1, 6.2]. */
export function filledHttp(template: HttpTemplate, filler: Filler): Result<FilledHttp, Undeliverable> {
  const url = filledUrl(template, filler)
  if (!url.ok) return url
  const headers = filledHeaders(template.headers, filler)
  if (!headers.ok) return headers
  const body = filledBody(template.payload, filler)
  return body.ok ? ok({ url: url.value, headers: headers.value, body: body.value }) : body
}

/** Fills in what a message of `mqttCustom` is made of [NGSIv2 subscriptions 6.1, 7.1]. */
export function filledMqtt({ topic, payload }: MqttTemplate, filler: Filler): Result<FilledMqtt, Undeliverable> {
  const filled = filler.text(topic, '')
  if (!filled.ok) return filled
  if (!isTopic(filled.value)) return err({ kind: 'topicInvalid', topic: filled.value })
  const body = filledBody(payload, filler)
  return body.ok ? ok({ topic: filled.value, body: body.value }) : body
}

/** The body of a message, the same for HTTP and MQTT [NGSIv2 subscriptions 6.2, 7.1]. */
function filledBody(payload: PayloadTemplate, filler: Filler): Result<FilledBody, Unfilled> {
  switch (payload.kind) {
    case 'usual':
      return ok({ kind: 'usual' })
    case 'none':
      return ok({ kind: 'custom', text: '', contentType: undefined })
    case 'text': {
      const filled = filler.text(payload.text, 'null')
      if (!filled.ok) return filled
      return ok({ kind: 'custom', text: percentDecoded(filled.value), contentType: 'text/plain; charset=utf-8' })
    }
    case 'json': {
      const filled = filler.value(payload.value)
      if (!filled.ok) return filled
      const text = JSON.stringify(filled.value)
      return ok({ kind: 'custom', text, contentType: 'application/json; charset=utf-8' })
    }
  }
}

/** A pair of the query with an empty name or value is left out; nothing in it is percent-encoded. */
function filledUrl({ url, query }: HttpTemplate, filler: Filler): Result<string, Undeliverable> {
  const base = filler.text(url, '')
  if (!base.ok) return base
  const scheme = parseNotificationUrl(base.value)?.scheme
  if (scheme !== 'http' && scheme !== 'https') return err({ kind: 'urlInvalid', url: base.value })
  const pairs: Pair[] = []
  for (const pair of query) {
    const name = filler.text(pair[0], '')
    const value = filler.text(pair[1], '')
    if (!name.ok) return name
    if (!value.ok) return value
    if (name.value !== '' && value.value !== '') pairs.push([name.value, value.value])
  }
  const parts = pairs.toSorted(([a], [b]) => compareBytes(a, b)).map(([name, value]) => `${name}=${value}`)
  return ok(parts.length === 0 ? base.value : `${base.value}?${parts.join('&')}`)
}

/** What tells a receiver how to read a request, and the broker which notification it was, is not the client's to change. */
const unchangeable: ReadonlySet<string> = new Set([
  'fiware-correlator',
  'ngsiv2-attrsformat',
  'content-length',
  'transfer-encoding',
  'connection',
  'rigel-notification-id',
])

const legalName = /^[!#$%&'*+.^_`|~\da-z-]+$/
const legalValue = /^[\t\x20-\x7e\x80-\xff]*$/

function filledHeaders(headers: readonly Pair[], filler: Filler): Result<ReadonlyMap<string, string>, Undeliverable> {
  const filled = new Map<string, string>()
  for (const [nameTemplate, valueTemplate] of headers) {
    const given = filler.text(nameTemplate, 'null')
    if (!given.ok) return given
    const name = given.value.toLowerCase()
    const isMacro = onlyMacro(valueTemplate) !== undefined
    const value = filler.text(valueTemplate, isMacro ? '' : 'null')
    if (!value.ok) return value
    if (unchangeable.has(name) || (isMacro && value.value === '')) continue
    const decoded = percentDecoded(value.value)
    if (!legalName.test(name) || !legalValue.test(decoded)) return err({ kind: 'headerInvalid', name })
    filled.set(name, decoded)
  }
  return ok(filled)
}

/**
 * The headers of a message, names and values in turn: those given take the place of the usual ones, or are added; an
 * empty value removes one [NGSIv2 subscriptions 6.1].
 */
export function withHeaders(usual: readonly string[], given: ReadonlyMap<string, string>): readonly string[] {
  const kept = usual.filter((_, at) => !given.has((usual[at - (at % 2)] ?? '').toLowerCase()))
  return [...kept, ...[...given].filter(([, value]) => value !== '').flat()]
}
