import { err, ok, type Result } from '../../result.js'
import { atOnce, type Steps } from '../../slices.js'
import { compareBytes, type Value } from '../context/entity.js'
import type { StepBudget } from '../context/step-budget.js'
import { quote } from '../context/value.js'
import { type JsonTemplate, readJsonTemplate, shortestJson, type TemplateText } from '../expression/json-template.js'
import { withoutMacros } from '../expression/macros.js'
import { type Filler, percentDecoded, type Unfilled } from '../expression/template.js'
import type { Undeliverable } from './message.js'
import { isTopic, parseNotificationUrl, streamReference } from './targets.js'
import type { HttpTemplate, Template } from './terms.js'

/** A rendered message of `httpCustom`, without its body. */
export interface FilledHead {
  /** Undefined when listening clients receive the message as an event. */
  readonly url: string | undefined
  /**
   * Each name once, in lower case; a value is its bytes in UTF-8, as characters of Latin-1. An empty one removes the header that would
   * be sent otherwise.
   */
  readonly headers: readonly Pair[]
}

type Pair = readonly [name: string, value: string]

/** Why a message is dropped, for example because it would not be a valid request [NGSIv2 subscriptions 6.1]. */
export type Unsendable =
  | Unfilled
  | { readonly kind: 'urlInvalid'; readonly url: string }
  | { readonly kind: 'headerInvalid'; readonly name: string }
  | { readonly kind: 'topicInvalid'; readonly topic: string }

/** Renders a message of `httpCustom` to a URL, without its body [NGSIv2 subscriptions 6.1, 6.2]. */
export function filledHttp(url: string, template: HttpTemplate, filler: Filler): Result<FilledHead, Unsendable> {
  const filled = filledUrl(url, template, filler)
  if (!filled.ok) return filled
  const headers = filledHeaders(template, filler)
  return headers.ok ? ok({ url: filled.value, headers: headers.value }) : headers
}

/** Renders the topic of a message of `mqttCustom` [NGSIv2 subscriptions 6.1, 7.1]. */
export function filledTopic(topic: string, filler: Filler): Result<string, Unsendable> {
  const filled = filler.text(topic, '')
  if (filled.ok && !isTopic(filled.value)) return err({ kind: 'topicInvalid', topic: filled.value })
  return filled
}

/**
 * The content type of a body that a template makes, unless a header sets another one, over HTTP and MQTT; undefined for the body that
 * `http` would send, also for a patched entity [NGSIv2 subscriptions 6.2, 7.1].
 */
export function contentTypeOf({ payload, json }: Template): string | undefined {
  if (payload === null) return ''
  if (payload !== undefined && payload !== '') return 'text/plain; charset=utf-8'
  return json === undefined ? undefined : 'application/json; charset=utf-8'
}

/** The body that a template makes; undefined for the body that `http` would send [NGSIv2 subscriptions 6.2, 7.1]. */
export function filledBody(template: Template, filler: Filler): Result<string | undefined, Unfilled> {
  const { payload } = template
  if (payload === null) return ok('')
  if (payload !== undefined && payload !== '') {
    const filled = filler.text(payload, 'null')
    return filled.ok ? ok(percentDecoded(filled.value)) : filled
  }
  const json = jsonOf(template)
  return json === undefined ? ok(undefined) : filler.json(json)
}

/** By template: what `json` or `ngsi`, of which it has one at most, was read as. */
const read = new WeakMap<Template, JsonTemplate>()
const parsed = new WeakMap<Template, NgsiTemplate>()

/** Reads `json` or `ngsi` of a template, in steps when it is first used. */
export function* jsonRead(template: Template): Steps<JsonTemplate | undefined> {
  const text = template.json ?? template.ngsi
  if (text === undefined) return undefined
  const known = read.get(template)
  if (known !== undefined) return known
  const made = yield* readJsonTemplate(text)
  read.set(template, made)
  return made
}

function jsonOf(template: Template): JsonTemplate | undefined {
  return template.json === undefined ? undefined : atOnce(jsonRead(template))
}

/** `ngsi` of a template: `id`, `type` and attributes in the form `normalized` [NGSIv2 subscriptions 6.2]. */
export type NgsiTemplate = { readonly [name: string]: Value }

/**
 * `ngsi` of a template, parsed when it is first used. The steps for that are taken each time, so that a body does not depend on
 * earlier ones; undefined when the budget has too few.
 */
export function ngsiOf(template: Template, text: TemplateText, budget: StepBudget): NgsiTemplate | undefined {
  if (!budget.spend(text.length)) return undefined
  const known = parsed.get(template)
  if (known !== undefined) return known
  const made = JSON.parse(text) as NgsiTemplate
  parsed.set(template, made)
  return made
}

/** Query parameters with an empty name or value are left out; nothing is percent-encoded. */
function filledUrl(url: string, { qs = {} }: HttpTemplate, filler: Filler): Result<string | undefined, Unsendable> {
  if (url === streamReference) return ok(undefined)
  const base = filler.text(url, '')
  if (!base.ok) return base
  const scheme = parseNotificationUrl(base.value)?.scheme
  if (scheme !== 'http' && scheme !== 'https') return err({ kind: 'urlInvalid', url: base.value })
  const pairs: Pair[] = []
  for (const pair of Object.entries(qs)) {
    const name = filler.text(pair[0], '')
    const value = filler.text(pair[1], '')
    if (!name.ok) return name
    if (!value.ok) return value
    if (name.value !== '' && value.value !== '') pairs.push([name.value, value.value])
  }
  const parts = pairs.toSorted(([a], [b]) => compareBytes(a, b)).map(([name, value]) => `${name}=${value}`)
  return ok(parts.length === 0 ? base.value : `${base.value}?${parts.join('&')}`)
}

/**
 * Headers that a template cannot change: receivers need them to read the request, and the broker to recognise the notification; or
 * they are about the connection, or ask for more than one request and one response.
 */
const unchangeable: ReadonlySet<string> = new Set([
  'fiware-correlator',
  'ngsiv2-attrsformat',
  'content-length',
  'transfer-encoding',
  'connection',
  'keep-alive',
  'expect',
  'upgrade',
  'rigel-notification-id',
])

const legalName = /^[!#$%&'*+.^_`|~\da-z-]+$/
/** Bytes as characters of Latin-1. */
const legalValue = /^[\t\x20-\x7e\x80-\xff]*$/

function filledHeaders({ headers = {} }: HttpTemplate, filler: Filler): Result<readonly Pair[], Unsendable> {
  const filled = new Map<string, string>()
  for (const [nameTemplate, valueTemplate] of Object.entries(headers)) {
    const given = filler.text(nameTemplate, 'null')
    if (!given.ok) return given
    const name = given.value.toLowerCase()
    const value = filler.textUnlessNull(valueTemplate)
    if (!value.ok) return value
    if (unchangeable.has(name) || value.value === undefined) continue
    const bytes = Buffer.from(percentDecoded(value.value)).toString('latin1')
    if (!legalName.test(name) || !legalValue.test(bytes)) return err({ kind: 'headerInvalid', name })
    filled.set(name, bytes)
  }
  return ok([...filled])
}

/** What is logged of a message that is dropped. */
export function undeliverable(why: Unsendable): Undeliverable {
  return { level: why.kind === 'macroOpen' ? 'warn' : 'error', reason: reasonOf(why) }
}

function reasonOf(why: Unsendable): string {
  switch (why.kind) {
    case 'macroOpen':
      return 'a macro of its template does not end'
    case 'filledTooLong':
      return 'it is longer than a notification may be'
    case 'urlInvalid':
      return `${quote(why.url)} is no URL that it can be sent to`
    case 'headerInvalid':
      return `its header ${quote(why.name)} is not legal`
    case 'topicInvalid':
      return `${quote(why.topic)} is no topic that it can be published to`
  }
}

/**
 * The least length in bytes of a body made from a template, whatever its macros become; 0 where it depends on the entity alone.
 */
export function shortestBody(template: Template): number {
  const { payload } = template
  if (typeof payload === 'string') return Buffer.byteLength(percentDecoded(withoutMacros(payload)))
  const json = jsonOf(template)
  return json === undefined ? 0 : shortestJson(json)
}
