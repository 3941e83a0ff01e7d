import type { LiveAlarmGroup, LiveAlarms, LiveBacklog, LiveFrame } from '../../live-frame.js'
import { countText, durationText, reasonText, sinceText } from '../format.js'
import { waitingIn } from '../moment.js'
import type { Tone } from '../parts/small-parts.js'
import { backlogTone } from '../receiver-state.js'

/** A condition that an operator should look at, as a text. */
export interface Concern {
  readonly tone: Tone
  readonly text: string
  /** What an operator can do about it, in sentences. */
  readonly advice: string
  /** The page with more details. */
  readonly page: string
}

/** Concerns, and how many there are beyond those that are listed. */
export interface Found {
  readonly concerns: readonly Concern[]
  readonly more: number
}

/** At most this many hosts are listed for each kind of alarm. */
const mostHosts = 5

interface Kind {
  readonly page: string
  readonly advice: string
  /** What one host with one alarm does, what one with several does, and what is said where hosts are not told. */
  readonly one: (group: LiveAlarmGroup) => string
  readonly several: (group: LiveAlarmGroup) => string
  readonly unnamed: (alarms: number) => string
}

/** What loses data comes first, then what delays it. */
const kinds: Readonly<Record<string, Kind>> = {
  DatabaseError: {
    page: 'settings',
    advice: 'Check the disk of the data folder. The log names the file.',
    one: () => 'the storage fails',
    several: () => 'the storage fails',
    unnamed: () => 'the storage fails',
  },
  NotificationError: failing('receiver', 'receivers', [
    'Check that the receiver runs, and that this machine reaches it. What waits is sent by itself then.',
    'Delete the subscriptions of a receiver that is gone.',
  ]),
  MqttConnectionError: {
    page: 'receivers',
    advice: 'Check that the MQTT broker runs, and the user and the password in the subscriptions. Notifications wait.',
    one: ({ subject }) => `the MQTT broker ${subject} is not reached`,
    several: ({ host }) => `the MQTT broker ${plainHost(host)} is not reached`,
    unnamed: (alarms) =>
      alarms === 1 ? 'an MQTT broker is not reached' : `${countText(alarms)} MQTT brokers are not reached`,
  },
  ForwardingError: failing('provider', 'registrations', [
    'Check that the provider runs. Until then, its part is missing from the responses to queries.',
    'Delete the registrations of a provider that is gone.',
  ]),
  BadInput: {
    page: 'requests',
    advice: 'Correct the client. The reason is that of its last bad request. Other clients are not affected.',
    one: ({ host }) => `client ${host} sends bad requests`,
    several: ({ host }) => `client ${host} sends bad requests`,
    unnamed: (alarms) =>
      alarms === 1 ? 'a client sends bad requests' : `${countText(alarms)} clients send bad requests`,
  },
}
const inOrder = Object.keys(kinds)

/** The active alarms in the order of their kinds, kinds that are not known here last. */
function ordered(alarms: LiveAlarms) {
  const rank = (kind: string) => (kind in kinds ? inOrder.indexOf(kind) : inOrder.length)
  return Object.entries(alarms).toSorted(([one], [other]) => rank(one) - rank(other))
}

/** A kind whose alarms are about what each has a URL, many of them on one host. */
function failing(what: string, page: string, advice: readonly string[]): Kind {
  return {
    page,
    advice: advice.join(' '),
    one: ({ subject }) => `${what} ${subject} fails`,
    several: ({ host, alarms }) => `${plainHost(host)}: ${countText(alarms)} ${what}s fail`,
    unnamed: (alarms) => (alarms === 1 ? `a ${what} fails` : `${countText(alarms)} ${what}s fail`),
  }
}

function kindOf(kind: string): Kind {
  const text = () => `alarm ${kind}`
  return kinds[kind] ?? { page: 'alarms', advice: 'The log says more.', one: text, several: text, unnamed: text }
}

/** The page with more about the alarms of a kind; Trace has the lines of the log about others. */
export function alarmPage(kind: string): string {
  return kinds[kind]?.page ?? 'trace'
}

/** The alarms by host, those with most alarms first; their numbers alone for who may not read them. */
export function alarmsFound(
  alarms: LiveAlarms,
  groups: readonly LiveAlarmGroup[] | null,
  backlogs: readonly LiveBacklog[],
): Found {
  if (groups === null) {
    const concerns = ordered(alarms).flatMap(([kind, [active]]): readonly Concern[] =>
      active === 0
        ? []
        : [{ tone: 'bad', text: kindOf(kind).unnamed(active), advice: kindOf(kind).advice, page: 'alarms' }],
    )
    return { concerns, more: 0 }
  }
  const found = ordered(alarms).map(([kind, [, , hosts]]): Found => {
    const own = groups.filter((group) => group.kind === kind)
    const listed = own.slice(0, mostHosts)
    const { page, advice } = kindOf(kind)
    return {
      concerns: listed.map((group) => ({ tone: 'bad', text: groupText(group, backlogs), advice, page })),
      more: own.length === 0 ? 0 : Math.max(0, hosts - listed.length),
    }
  })
  return { concerns: found.flatMap(({ concerns }) => concerns), more: found.reduce((sum, { more }) => sum + more, 0) }
}

function groupText(group: LiveAlarmGroup, backlogs: readonly LiveBacklog[]): string {
  const { kind, alarms, since_ms, occurrences, reason } = group
  const { one, several } = kindOf(kind)
  const host = plainHost(group.host)
  const depth = backlogs.reduce((sum, each) => (plainHost(each.receiver) === host ? sum + each.depth : sum), 0)
  const often = alarms === 1 && occurrences > 1 ? [`${countText(occurrences)} times`] : []
  const waiting = depth > 0 ? [`${countText(depth)} wait`] : []
  return [
    alarms === 1 ? one(group) : several(group),
    `${reasonText(reason)} since ${sinceText(since_ms)}`,
    ...often,
    ...waiting,
  ].join(', ')
}

/** The host and port of a URL, or of what has a user before it. */
export function plainHost(name: string): string {
  const [host = ''] = name.slice(name.includes('://') ? name.indexOf('://') + 3 : 0).split('/')
  return host.slice(host.lastIndexOf('@') + 1)
}

/** Receivers that are behind although their attempts succeed; `failing` are the hosts of those that are listed as failing. */
export function backlogsFound(
  frame: Pick<LiveFrame, 'deliveries' | 'time_ms'>,
  failing: readonly LiveAlarmGroup[],
): readonly Concern[] {
  const { deliveries, time_ms } = frame
  const { backlogs } = deliveries
  if (backlogs === null) {
    const { depth, lag_s } = waitingIn(frame)
    return backlogConcern('', depth, lag_s)
  }
  const failingHosts = new Set(failing.map(({ host }) => plainHost(host)))
  return backlogs
    .filter(({ receiver }) => !failingHosts.has(plainHost(receiver)))
    .flatMap(({ receiver, depth, oldest_ms: made_ms, latency_ms }) =>
      backlogConcern(`${plainHost(receiver)}: `, depth, (time_ms - made_ms) / 1000, latency_ms),
    )
    .slice(0, mostHosts)
}

const backlogAdvice =
  'The receiver takes fewer notifications than are made for it. Make it respond faster, or let fewer changes notify it: give its subscriptions a throttling, or fewer attributes in their conditions.'

function backlogConcern(
  whose: string,
  depth: number,
  age_s: number,
  latency_ms: number | null = null,
): readonly Concern[] {
  const tone = backlogTone(depth, age_s)
  if (tone === undefined) return []
  const slow = latency_ms === null ? '' : `, an attempt takes ${durationText(latency_ms / 1000)}`
  const verb = depth === 1 ? 'notification waits' : 'notifications wait'
  const text = `${whose}${countText(depth)} ${verb}, the oldest for ${durationText(age_s)}${slow}`
  return [{ tone, text, advice: backlogAdvice, page: 'receivers' }]
}
