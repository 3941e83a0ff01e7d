import type { Resource } from '../api/api.js'
import { json } from '../api/response.js'
import { type ActiveAlarm, type AlarmCounts, alarmKinds } from '../log/alarms.js'
import { dateText } from '../time.js'
import type { ConsoleParts } from './console-parts.js'
import { GivenParameters } from './given-parameters.js'

/** What is wrong now: how many alarms there are of each kind, and the newest of them. */
export interface AlarmList {
  readonly counts: Partial<AlarmCounts>
  readonly alarms: readonly ShownAlarm[]
}

/** An alarm with its dates as texts. */
export interface ShownAlarm extends Omit<ActiveAlarm, 'since' | 'last'> {
  readonly since: string
  readonly last: string
}

/** What is wrong, since when, how often [console: data], [management 10.7]. */
export function alarmViews({ peers }: Pick<ConsoleParts, 'peers'>): readonly Resource[] {
  return [
    {
      pattern: '/admin/alarms',
      anyCase: false,
      polled: true,
      operations: {
        GET: {
          use: 'read',
          prepare: (request) => {
            const given = new GivenParameters(request, ['limit', 'kind'])
            const limit = given.whole('limit', 100, 1, 1000)
            const kind = given.oneOf('kind', alarmKinds)
            return given.prepared(async () => {
              // Of one kind all are asked for, since others may be newer.
              const [counts, lists] = await Promise.all([
                peers.gather('alarms', undefined),
                peers.gather('activeAlarms', kind === undefined ? limit : mostAsked),
              ])
              const fitting = lists.flat().filter((alarm) => kind === undefined || alarm.kind === kind)
              const list: AlarmList = {
                counts: Object.assign({}, ...counts),
                alarms: fitting.slice(0, limit).map(alarmShown),
              }
              return json(list)
            })
          },
        },
      },
    },
  ]
}

/** As many as are kept. */
const mostAsked = 10_000

function alarmShown({ since, last, ...alarm }: ActiveAlarm): ShownAlarm {
  return { ...alarm, since: dateText(since), last: dateText(last) }
}
