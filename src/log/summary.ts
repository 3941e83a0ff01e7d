import type { AlarmCount, AlarmCounts } from './alarms.js'

/** What a summary is made of: all numbers since the start [management 10.7]. */
export interface SummaryCounts {
  readonly transactions: number | bigint
  readonly alarms: AlarmCounts
}

/** The lines of a summary, with what is new since the one before. */
export function summaryLines(counts: SummaryCounts, before: SummaryCounts): readonly string[] {
  const { alarms, transactions } = counts
  const fresh = BigInt(transactions) - BigInt(before.transactions)
  const active = (title: string, kind: keyof AlarmCounts) =>
    `${title} active alarms: ${alarms[kind].active}, ${changes(alarms[kind], before.alarms[kind])}`
  const database = alarms.DatabaseError.active === 0 ? 'ok' : 'erroneous'
  return [
    `Transactions: ${transactions} (new: ${fresh})`,
    `DB status: ${database}, ${changes(alarms.DatabaseError, before.alarms.DatabaseError)}`,
    active('Notification failure', 'NotificationError'),
    active('Forwarding failure', 'ForwardingError'),
    active('Bad input', 'BadInput'),
  ]
}

/** Writes a summary every so many seconds until the returned function is called; never with 0. */
export function startSummaries(
  period_s: number,
  counts: () => SummaryCounts,
  log: { summary(op: string, message: string): void },
): () => void {
  if (period_s === 0) return () => {}
  let before = counts()
  let left_s = period_s
  // A timer can not hold the longest period of `-logSummary`, so it is waited for in parts.
  const part_s = () => Math.min(left_s, 86400)
  let waited_s = part_s()
  let timer = setTimeout(tick, waited_s * 1000).unref()
  return () => clearTimeout(timer)

  function tick(): void {
    left_s -= waited_s
    if (left_s <= 0) {
      const now = counts()
      for (const line of summaryLines(now, before)) log.summary('log:summary', line)
      before = now
      left_s = period_s
    }
    waited_s = part_s()
    timer = setTimeout(tick, waited_s * 1000).unref()
  }
}

function changes(now: AlarmCount, before: AlarmCount): string {
  const text = (name: 'raised' | 'released') => `${name}: (total: ${now[name]}, new: ${now[name] - before[name]})`
  return `${text('raised')}, ${text('released')}`
}
