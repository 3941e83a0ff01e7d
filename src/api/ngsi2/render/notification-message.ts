import { compareBytes, type Metadata, type Value } from '../../../model/context/entity.js'
import type { StepBudget } from '../../../model/context/step-budget.js'
import { shownType } from '../../../model/context/value.js'
import type { Expressions } from '../../../model/expression/expressions.js'
import type { ExpressionScope, NamesOfEntity } from '../../../model/expression/scope.js'
import { Filler, filledPatch, type PatchedAttribute, type PatchTemplate } from '../../../model/expression/template.js'
import type { Change } from '../../../model/subscription/change.js'
import {
  contentTypeOf,
  filledBody,
  filledHttp,
  filledTopic,
  type NgsiTemplate,
  ngsiOf,
  type Unsendable,
  undeliverable,
} from '../../../model/subscription/custom-message.js'
import { hasLegacyAttributes, legacyEntity } from '../../../model/subscription/legacy-entity.js'
import type { ConditionEvaluator } from '../../../model/subscription/matcher-index.js'
import {
  type BodyCause,
  type BodyRenderer,
  type BodyTerms,
  bodyTermsOf,
  type MessageRenderer,
  type NoticeMessage,
} from '../../../model/subscription/message.js'
import type { NoticeRenderer } from '../../../model/subscription/notice.js'
import type { Subscription } from '../../../model/subscription/subscription.js'
import type { Template } from '../../../model/subscription/terms.js'
import { err, ok, type Result } from '../../../result.js'
import type { ChangeViews } from './change-view.js'
import { bodyWith, notifiedItem, showsAll, showsAnything } from './notification.js'
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
  readonly legacyBody: NoticeRenderer
}

/**
 * A renderer for the messages of notifications, in the forms of NGSIv2 or by a template of the client. A message that cannot be
 * sent is rendered as well: the courier drops, counts and logs it [NGSIv2 subscriptions 5, 6].
 */
export function messageRenderer(parts: RendererParts): MessageRenderer {
  return {
    head: (subscription, change, cause, budget) => {
      const terms = bodyTermsOf(subscription)
      if (!hasShown(parts, terms, change)) return undefined
      if (customOf(terms, parts) === undefined) return { format: formatOf(terms) }
      const head = customHead(subscription, new Filler(parts.expressions, scopeOf(change, cause, parts, budget)))
      return head.ok ? head.value : { undeliverable: undeliverable(head.error) }
    },
    body: bodyRenderer(parts),
  }
}

/** A renderer for the bodies of those messages. */
export function bodyRenderer(parts: RendererParts): BodyRenderer {
  return (terms, change, cause, budget) => {
    const usual = () => usualBody(parts, terms, change) ?? ''
    const custom = customOf(terms, parts)
    if (custom === undefined) return ok(usual())
    const scope = scopeOf(change, cause, parts, budget)
    const made = filledBody(custom, new Filler(parts.expressions, scope))
    if (!made.ok) return err(undeliverable(made.error))
    if (made.value !== undefined) return ok(made.value)
    const patched = patchedBody(parts, terms, custom, change, scope)
    return patched.ok ? ok(patched.value ?? usual()) : err(undeliverable(patched.error))
  }
}

/** Evaluates conditions that are JEXL expressions: only `true` itself fulfils them [NGSIv2 subscriptions 4.1]. */
export function conditionEvaluator(parts: Omit<RendererParts, 'legacyBody' | 'fillsIn'>): ConditionEvaluator {
  return (expression, change, cause, budget) =>
    parts.expressions.holds(expression, scopeOf(change, cause, parts, budget))
}

/** The template that is filled in, if there is one. */
function customOf({ notification }: BodyTerms, { fillsIn }: RendererParts): Template | undefined {
  return fillsIn ? notification.target.custom : undefined
}

function usualBody({ legacyBody, views }: RendererParts, terms: BodyTerms, change: Change): string | undefined {
  if (formatOf(terms) !== undefined) return views.of(change).body(terms)
  return legacyBody({ id: terms.id, attributes: [] }, [legacyEntity(terms, change)])
}

/** Whether there is anything to show: the form of NGSIv1 without a template needs an attribute [NGSIv2 subscriptions 9]. */
function hasShown(parts: RendererParts, terms: BodyTerms, change: Change): boolean {
  const isLegacy = formatOf(terms) === undefined && customOf(terms, parts) === undefined
  if (isLegacy) return hasLegacyAttributes(terms, change)
  const entity = () => parts.views.of(change).entity(terms.notification.metadata)
  return showsAnything(terms, entity, change)
}

/** The value of the header `Ngsiv2-AttrsFormat`; undefined for the form of NGSIv1 [NGSIv2 subscriptions 9]. */
function formatOf({ notification: { format } }: BodyTerms): string | undefined {
  return format === 'legacy' ? undefined : format
}

function customHead(subscription: Subscription, filler: Filler): Result<NoticeMessage, Unsendable> {
  const terms = bodyTermsOf(subscription)
  const { target } = terms.notification
  const contentType = contentTypeOf(target.custom ?? {})
  const ofBody: NoticeMessage =
    contentType === undefined ? { format: formatOf(terms) } : { format: 'custom', contentType }
  if (target.kind === 'mqtt') {
    const topic = filledTopic(target.topic, filler)
    return topic.ok ? ok({ topic: topic.value, ...ofBody }) : topic
  }
  const filled = filledHttp(subscription.reference, target.custom ?? {}, filler)
  if (!filled.ok) return filled
  const { url, headers } = filled.value
  const method = target.custom?.method
  return ok({ ...(url !== undefined && { url }), ...(method !== undefined && { method }), headers, ...ofBody })
}

/**
 * The body with the template's attributes set on the entity, before any are selected; undefined for the usual body [NGSIv2
 * subscriptions 6.2].
 */
function patchedBody(
  { expressions, views }: RendererParts,
  terms: BodyTerms,
  custom: Template,
  change: Change,
  scope: ExpressionScope,
): Result<string | undefined, Unsendable> {
  if (custom.ngsi === undefined || formatOf(terms) === undefined) return ok(undefined)
  const ngsi = ngsiOf(custom, custom.ngsi, scope.budget)
  if (ngsi === undefined) return err({ kind: 'filledTooLong' })
  const filled = filledPatch(patchOf(ngsi), expressions, scope)
  if (!filled.ok) return filled
  const { metadata, format } = terms.notification
  const view = views.of(change)
  const entity = view.entity(metadata)
  const { id = entity.id, type = entity.type, values } = filled.value
  const laid = Array.from(values, ([name, value]) => ({
    ...{ name, type: typeGiven(ngsi[name]), value, metadata: priorityShown(ngsi[name], metadata) },
    byKind: true as const,
  }))
  if (showsAll(terms)) {
    return ok(bodyWith(terms, view.members(metadata, format).with({ id, type }, laid)))
  }
  const kept = entity.attributes.filter(({ name }) => !values.has(name))
  const attributes = [...kept, ...laid].sort((a, b) => compareBytes(a.name, b.name))
  const item = notifiedItem(terms, { id, type, attributes }, change)
  return ok(item === undefined ? undefined : bodyWith(terms, item))
}

function patchOf({ id, type, ...attributes }: NgsiTemplate): PatchTemplate {
  return {
    id: typeof id === 'string' ? id : undefined,
    type: typeof type === 'string' ? type : undefined,
    attributes: Object.entries(attributes).map(patchedAttribute),
  }
}

/** The template's own metadata, if the subscription's list of metadata includes it [NGSIv2 subscriptions 5.4, 6.2]. */
function priorityShown(given: Value | undefined, names: readonly string[]): readonly Metadata[] {
  if (names.length > 0 && !names.includes('*') && !names.includes('evalPriority')) return []
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

/** The names and the time for the expressions of one message or one condition. */
function scopeOf(
  change: Change,
  cause: BodyCause,
  { expressions: { sizes }, views, max_bytes }: Omit<RendererParts, 'legacyBody' | 'fillsIn'>,
  budget: StepBudget,
): ExpressionScope {
  let names: NamesOfEntity | undefined
  const lookUp = (name: string): Value | undefined => {
    names ??= views.of(change).lookUp(cause)
    return names(name, budget)
  }
  return { lookUp, now: cause.time, budget, sizes, max_bytes }
}
