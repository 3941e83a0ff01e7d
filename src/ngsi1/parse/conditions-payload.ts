import { err, ok, type Result } from '../../result.js'
import type { Subscription } from '../../subscription/subscription.js'
import { parseDuration } from './duration.js'
import type { CheckRefusal } from './payload-refusal.js'
import { atMost } from './selectors-payload.js'
import { identifier, list, type ReadBy, record, text } from './shape.js'

/** When a subscription fires: by changes, by time, or both. */
export type Conditions = Pick<Subscription, 'onChange' | 'interval_ms'>

/** The conditions of a subscription. The restriction of a single one is a text without effect [subscriptions 2.1]. */
export const notifyConditions = list(
  'notifyCondition',
  record({ type: text, condValues: list('condValue', identifier), restriction: text }),
)

type Drafts = ReadBy<typeof notifyConditions>

/** What holds without conditions: every change fires [subscriptions 2.1]. */
export const anyChange: Conditions = { onChange: [], interval_ms: undefined }

const shortestInterval_ms = 1000

/** Of all conditions together. */
const maxTriggers = 1000

/** Checks conditions and joins those of one type; nothing when there are none [subscriptions 2.1, 2.1.1]. */
export function checkConditions(drafts: Drafts = []): Result<Conditions | undefined, CheckRefusal> {
  if (drafts.length === 0) return ok(undefined)
  const wrong = wrongType(drafts)
  if (wrong) return err(wrong)
  if (drafts.some(({ condValues = [] }) => condValues.includes(''))) return err({ kind: 'triggerEmpty' })
  const few = atMost(
    maxTriggers,
    'condValues',
    drafts.flatMap(({ condValues = [] }) => condValues),
  )
  if (!few.ok) return few
  const interval = shortestInterval(drafts.filter(isOf('ONTIMEINTERVAL')))
  if (!interval.ok) return interval
  return ok({ onChange: triggers(drafts.filter(isOf('ONCHANGE'))), interval_ms: interval.value })
}

function isOf(...types: readonly string[]): (draft: Drafts[number]) => boolean {
  return ({ type = '' }) => types.includes(type.toUpperCase())
}

function wrongType(drafts: Drafts): CheckRefusal | undefined {
  const isKnown = isOf('ONCHANGE', 'ONTIMEINTERVAL')
  if (drafts.some(({ type = '' }) => type === '')) return { kind: 'conditionTypeEmpty' }
  const unknown = drafts.find((draft) => !isKnown(draft))
  return unknown && { kind: 'conditionTypeUnknown', value: unknown.type ?? '' }
}

/** The triggering attributes of all conditions; one without any means every attribute, which others can not narrow. */
function triggers(drafts: Drafts): readonly string[] | undefined {
  if (drafts.length === 0) return undefined
  const named = drafts.map(({ condValues = [] }) => condValues)
  return named.some((names) => names.length === 0) ? [] : [...new Set(named.flat())]
}

/** The shortest of several intervals counts: whoever asks for both wants to hear as often. */
function shortestInterval(drafts: Drafts): Result<number | undefined, CheckRefusal> {
  let shortest_ms: number | undefined
  for (const { condValues: [value = ''] = [] } of drafts) {
    const interval = parseDuration(value)
    const interval_ms = interval.ok ? (interval.value ?? 0) : 0
    if (interval_ms < shortestInterval_ms) return err({ kind: 'intervalMalformed', value })
    shortest_ms = Math.min(shortest_ms ?? interval_ms, interval_ms)
  }
  return ok(shortest_ms)
}
