import { compareBytes, type Metadata, type Value } from '../../../model/context/entity.js'
import type { StepBudget } from '../../../model/context/step-budget.js'
import { shownType } from '../../../model/context/value.js'
import type { Expressions } from '../../../model/expression/expressions.js'
import type { ExpressionScope } from '../../../model/expression/scope.js'
import { Filler, filledPatch, type PatchedAttribute, type PatchTemplate } from '../../../model/expression/template.js'
import type { Cause, Change } from '../../../model/subscription/change.js'
import {
  type FilledBody,
  filledHttp,
  filledMqtt,
  type Undeliverable,
  undeliverableText,
} from '../../../model/subscription/custom-message.js'
import type { ConditionEvaluator } from '../../../model/subscription/matcher-index.js'
import type { MessageRenderer, NoticeMessage, NoticeRenderer } from '../../../model/subscription/notice.js'
import { termsOf } from '../../../model/subscription/patch.js'
import type { Subscription } from '../../../model/subscription/subscription.js'
import type { NotificationTarget, Template } from '../../../model/subscription/terms.js'
import { ok, type Result } from '../../../result.js'
import type { ChangeViews } from './change-view.js'
import { bodyWith, notifiedItem, showsAll } from './notification.js'
import { typedMember, valueMember } from './shown-resources.js'

export interface RendererParts {
  /** Those of the thread. */
  readonly expressions: Expressions
  readonly views: ChangeViews
  /** The most bytes of a result (`-outReqMsgMaxSize`). */
  readonly max_bytes: number
  /** Whether templates are filled in (`-disableCustomNotifications`). */
  readonly fillsIn: boolean
  /** Renders bodies in the form of NGSIv1. */
  readonly word: NoticeRenderer
}

type Rendered = NonNullable<ReturnType<MessageRenderer>>

/**
 * A renderer for the messages of notifications, in the forms of NGSIv2 or by a template of the client. A message that cannot be
 * sent is rendered as well: the courier drops, counts and logs it [NGSIv2 subscriptions 5, 6].
 */
export function messageRenderer(parts: RendererParts): MessageRenderer {
  return (subscription, change, cause, budget) => {
    const { target, onlyChanged } = termsOf(subscription).notification
    const usual = () => usualBody(parts, subscription, change)
    if (target.custom === undefined || !parts.fillsIn) {
      const body = usual()
      return body === undefined ? undefined : { message: { format: formatOf(subscription) }, body }
    }
    if (onlyChanged && usual() === undefined) return undefined
    const scope = scopeOf(change, cause, parts, budget)
    const rendered = customMessage(parts, subscription, { target, template: target.custom, usual, change, scope })
    return rendered.ok ? rendered.value : undeliverable(rendered.error)
  }
}

/** Evaluates conditions that are JEXL expressions: only `true` itself fulfils them [NGSIv2 subscriptions 4.1]. */
export function conditionEvaluator(parts: Omit<RendererParts, 'word' | 'fillsIn'>): ConditionEvaluator {
  return (expression, change, cause, budget) =>
    parts.expressions.holds(expression, scopeOf(change, cause, parts, budget))
}

function usualBody({ word, views }: RendererParts, subscription: Subscription, change: Change): string | undefined {
  const isLegacy = formatOf(subscription) === undefined
  return isLegacy ? word(subscription, [change.entity]) : views.of(change).body(subscription)
}

/** The value of the header `Ngsiv2-AttrsFormat`; undefined for the form of NGSIv1 [NGSIv2 subscriptions 9]. */
function formatOf(subscription: Subscription): string | undefined {
  const { format } = termsOf(subscription).notification
  return format === 'legacy' ? undefined : format
}

interface Custom {
  readonly target: NotificationTarget
  readonly template: Template
  /** The body without the template. */
  readonly usual: () => string | undefined
  readonly change: Change
  readonly scope: ExpressionScope
}

function customMessage(
  parts: RendererParts,
  subscription: Subscription,
  custom: Custom,
): Result<Rendered, Undeliverable> {
  const { target, template, usual, scope } = custom
  const patched = template.ngsi === undefined ? ok(undefined) : patchedBody(parts, subscription, custom, template.ngsi)
  if (!patched.ok) return patched
  const filler = new Filler(parts.expressions, scope)
  const rendered = (own: NoticeMessage, body: FilledBody): Rendered =>
    body.kind === 'usual'
      ? { message: { ...own, format: formatOf(subscription) }, body: patched.value ?? usual() ?? '' }
      : { message: { ...own, format: 'custom', contentType: body.contentType }, body: body.text }
  if (target.kind === 'mqtt') {
    const filled = filledMqtt(target.topic, template, filler)
    return filled.ok ? ok(rendered({ topic: filled.value.topic }, filled.value.body)) : filled
  }
  const filled = filledHttp(subscription.reference, template, filler)
  if (!filled.ok) return filled
  const { url, headers, body } = filled.value
  const method = target.custom?.method
  return ok(rendered({ ...(url !== undefined && { url }), ...(method !== undefined && { method }), headers }, body))
}

/**
 * The body with the template's attributes set on the entity, before any are selected; undefined for the usual body [NGSIv2
 * subscriptions 6.2].
 */
function patchedBody(
  { expressions, views }: RendererParts,
  subscription: Subscription,
  { change, scope }: Custom,
  ngsi: NonNullable<Template['ngsi']>,
): Result<string | undefined, Undeliverable> {
  if (formatOf(subscription) === undefined) return ok(undefined)
  const filled = filledPatch(patchOf(ngsi), expressions, scope)
  if (!filled.ok) return filled
  const { metadata, format } = termsOf(subscription).notification
  const view = views.of(change)
  const entity = view.entity(metadata)
  const { id = entity.id, type = entity.type, values } = filled.value
  const laid = Array.from(values, ([name, value]) => ({
    ...{ name, type: typeGiven(ngsi[name]), value, metadata: priorityShown(ngsi[name], metadata) },
    byKind: true as const,
  }))
  if (showsAll(subscription)) {
    return ok(bodyWith(subscription, view.members(metadata, format).with({ id, type }, laid)))
  }
  const kept = entity.attributes.filter(({ name }) => !values.has(name))
  const attributes = [...kept, ...laid].sort((a, b) => compareBytes(a.name, b.name))
  const item = notifiedItem(subscription, { id, type, attributes }, change)
  return ok(item === undefined ? undefined : bodyWith(subscription, item))
}

function patchOf({ id, type, ...attributes }: NonNullable<Template['ngsi']>): PatchTemplate {
  return {
    id: typeof id === 'string' ? id : undefined,
    type: typeof type === 'string' ? type : undefined,
    attributes: Object.entries(attributes).map(patchedAttribute),
  }
}

/** The template's own metadata, if the subscription's list of metadata includes it [NGSIv2 subscriptions 5.4, 6.2]. */
function priorityShown(given: Value | undefined, asked: readonly string[]): readonly Metadata[] {
  if (asked.length > 0 && !asked.includes('*') && !asked.includes('evalPriority')) return []
  const priority = valueMember(valueMember(given, 'metadata'), 'evalPriority')
  return priority === undefined ? [] : [{ name: 'evalPriority', ...typedMember(priority) }]
}

function patchedAttribute([name, given]: [string, Value]): PatchedAttribute {
  const priority = valueMember(valueMember(valueMember(given, 'metadata'), 'evalPriority'), 'value')
  return {
    name,
    value: valueMember(given, 'value') ?? null,
    priority: typeof priority === 'number' ? priority : undefined,
  }
}

/** The given type, or the default type of the value before macros are filled in. */
function typeGiven(given: Value | undefined): string {
  return given === undefined ? shownType({ type: '', value: null }) : typedMember(given).type
}

function undeliverable(why: Undeliverable): Rendered {
  const level = why.kind === 'macroOpen' ? 'warn' : 'error'
  return { message: { undeliverable: { level, reason: undeliverableText(why) } }, body: '' }
}

/** The names and the time for the expressions of one message or one condition. */
function scopeOf(
  change: Change,
  cause: Cause,
  { expressions: { sizes }, views, max_bytes }: Omit<RendererParts, 'word' | 'fillsIn'>,
  budget: StepBudget,
): ExpressionScope {
  let names: ExpressionScope['lookUp'] | undefined
  const lookUp = (name: string): Value | undefined => {
    names ??= views.of(change).lookUp(cause)
    return names(name)
  }
  return { lookUp, now: cause.time, budget, sizes, max_bytes }
}
