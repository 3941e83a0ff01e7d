import type { ActiveAlarm } from '../../observe/log/alarms.js'
import type { LiveAlarmGroup } from './live-frame.js'

/** The worst groups of each kind, and how many groups there are of it. */
export interface AlarmGroups {
  readonly groups: readonly LiveAlarmGroup[]
  readonly hosts: ReadonlyMap<ActiveAlarm['kind'], number>
}

type Grouped = Omit<ActiveAlarm, 'isOver'> & { readonly isOfRoom: boolean }

/** Groups alarms by kind and host: of each kind those with most alarms, then those that occurred most often, at most this many. */
export function alarmGroups(alarms: Iterable<Grouped>, most: number): AlarmGroups {
  const byKind = new Map<ActiveAlarm['kind'], Map<string, Growing>>()
  for (const alarm of alarms) {
    let ofKind = byKind.get(alarm.kind)
    if (ofKind === undefined) {
      ofKind = new Map()
      byKind.set(alarm.kind, ofKind)
    }
    const host = hostOf(alarm.subject ?? '')
    const group = ofKind.get(host)
    if (group === undefined) ofKind.set(host, groupOf(host, alarm))
    else join(group, alarm)
  }
  const worst = [...byKind.values()].flatMap((ofKind) =>
    [...ofKind.values()]
      .sort((one, other) => other.alarms - one.alarms || other.occurrences - one.occurrences)
      .slice(0, most),
  )
  return { groups: worst, hosts: new Map([...byKind].map(([kind, { size }]) => [kind, size])) }
}

type Growing = { -readonly [Name in keyof LiveAlarmGroup]: LiveAlarmGroup[Name] }

function groupOf(host: string, { kind, subject = '', since, occurrences, last, reason, isOfRoom }: Grouped): Growing {
  return { kind, host, subject, alarms: 1, since_ms: since, occurrences, last_ms: last, reason, isOfRoom }
}

function join(group: Growing, { since, occurrences, last, reason, isOfRoom }: Grouped): void {
  group.isOfRoom &&= isOfRoom
  group.alarms += 1
  group.occurrences += occurrences
  group.since_ms = Math.min(group.since_ms, since)
  if (last < group.last_ms) return
  group.last_ms = last
  group.reason = reason
}

/** A URL up to its path; another subject is a host already. */
function hostOf(subject: string): string {
  const scheme = subject.indexOf('://')
  if (scheme === -1) return subject
  const path = subject.indexOf('/', scheme + 3)
  return path === -1 ? subject : subject.slice(0, path)
}
