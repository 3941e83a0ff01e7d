import { clockText, countText, shareText } from '../format.js'
import type { Live } from '../live-state.js'
import type { Moment } from '../moment.js'
import type { Tone } from '../parts/small-parts.js'

/** A condition that an operator should look at, as a text. */
export interface Concern {
  readonly tone: Tone
  readonly text: string
  /** The page with more details. */
  readonly page: string
}

/** The share from which a queue, a thread or a disk counts as nearly full or busy. */
const nearlyFull = { queue: 0.8, thread: 0.9, room: 0.8 } as const
/** The share of the latency from which a wait counts as the main cost of an update. */
const mostOfTime = 0.5
/** Shorter waits are no concern, whatever their share; in seconds. */
const noticed_s = 0.002
/** How long a restart is reported. */
const newly_ms = 15 * 60_000

/** The concerns, the worst first; empty when all is well. */
export function concernsOf({ hello, latest, recent }: Live, restarts: readonly number[]): readonly Concern[] {
  const { frame } = latest
  const found = [
    ...alarmsFound(frame.alarms),
    ...receiversFound(frame.deliveries),
    ...roomFound(hello, frame),
    ...permitsFound(frame.now),
    ...mailboxesFound(hello, frame),
    ...(recent === undefined ? [] : [...waitsFound(recent), ...threadsFound(hello, recent)]),
    ...restartsFound(restarts, frame),
    ...linesFound(frame.logLinesDropped),
  ]
  return found.toSorted((one, other) => Number(other.tone === 'bad') - Number(one.tone === 'bad'))
}

type Frame = Live['latest']['frame']

/** The pages with details about kinds of alarms; all others are described in the log. */
const alarmPages: ReadonlyMap<string, string> = new Map([
  ['NotificationError', 'receivers'],
  ['MqttConnectionError', 'receivers'],
  ['ForwardingError', 'registrations'],
  ['DatabaseError', 'settings'],
  ['BadInput', 'requests'],
])

function alarmsFound(alarms: Frame['alarms']): readonly Concern[] {
  return Object.entries(alarms).flatMap(([kind, [active]]) =>
    active === 0
      ? []
      : [
          {
            tone: 'bad',
            text: `alarm ${kind}${active > 1 ? ` (${active})` : ''}`,
            page: alarmPages.get(kind) ?? 'trace',
          },
        ],
  )
}

function receiversFound({ failing }: Frame['deliveries']): readonly Concern[] {
  // A reader who may not see the receivers sees only the alarm and its count.
  return (failing ?? []).map(({ receiver, since_ms, failures, reason }) => ({
    tone: 'bad',
    text: `receiver ${receiver} fails since ${clockText(since_ms)} (${reason}), ${countText(failures)} attempt${failures === 1 ? '' : 's'}`,
    page: 'receivers',
  }))
}

function roomFound({ map_bytes }: Live['hello'], { disk, partitions }: Frame): readonly Concern[] {
  const full = partitions.isFull.flatMap((isFull, number) => (isFull === 1 ? [number] : []))
  const refusing: readonly Concern[] =
    full.length === 0
      ? []
      : [{ tone: 'bad', text: `partition ${full.join(', ')} refuses updates because it is full`, page: 'settings' }]
  const used = disk.fullestMap
  if (map_bytes > 0 && used > nearlyFull.room) {
    const text = `the fullest partition has used ${shareText(used)} of what it may grow to (-dbSizeMax)`
    return [...refusing, { tone: used > 0.95 ? 'bad' : 'warning', text, page: 'settings' }]
  }
  return disk.left_bytes === 0
    ? [...refusing, { tone: 'bad', text: 'the disk is full: only removals are taken (-dbFreeMin)', page: 'settings' }]
    : refusing
}

function permitsFound({ permitsFree, permitsTaken, permitsQueued }: Frame['now']): readonly Concern[] {
  const share = permitsTaken / Math.max(1, permitsTaken + permitsFree)
  if (share <= nearlyFull.queue) return []
  const text = `${shareText(share)} of the permits for requests are taken, ${countText(permitsQueued)} requests wait for one`
  return [{ tone: permitsQueued > 0 ? 'bad' : 'warning', text, page: 'waits' }]
}

function mailboxesFound({ mailboxSize }: Live['hello'], { partitions }: Frame): readonly Concern[] {
  return partitions.mailboxDepth.flatMap((depth, number): readonly Concern[] => {
    const share = depth / mailboxSize
    if (share <= nearlyFull.queue) return []
    const text = `the mailbox of partition ${number} is full to ${shareText(share)} (-mailboxSize): beyond it updates are refused`
    return [{ tone: 'bad', text, page: 'waits' }]
  })
}

const stageTexts = {
  request: 'a permit: more requests arrive than are finished',
  mailbox: 'their partition in its mailbox: its thread does not get to run',
  transaction: "their partition's write transaction: the turn before is under way",
  dbConnectionPool: 'a read handle: long scans, or a small pool',
} as const

function waitsFound({ waits, update, partitions }: Moment): readonly Concern[] {
  const mean_s = update.mean_s
  const ofWaits = Object.entries(stageTexts).flatMap(([name, text]): readonly Concern[] => {
    const wait_s = name in stageTexts ? (waits?.[name as keyof typeof stageTexts].mean_s ?? 0) : 0
    if (!(wait_s > noticed_s && wait_s > mostOfTime * mean_s)) return []
    return [
      {
        tone: 'warning',
        text: `updates spend ${shareText(Math.min(1, wait_s / mean_s))} of their time waiting for ${text}`,
        page: 'waits',
      },
    ]
  })
  const ofDisks = partitions
    .filter(({ commitShare, sync }) => commitShare > mostOfTime && sync.p50_s > noticed_s)
    .map(
      ({ number, commitShare }): Concern => ({
        tone: 'warning',
        text: `partition ${number} waits for the disk (commit ${shareText(commitShare)} of its time)`,
        page: 'waits',
      }),
    )
  return [...ofWaits, ...ofDisks]
}

function threadsFound({ threads }: Live['hello'], { busy }: Moment): readonly Concern[] {
  return threads.flatMap(({ kind, number }, at) => {
    const share = busy[at] ?? 0
    if (!(share > nearlyFull.thread)) return []
    return [
      {
        tone: 'warning',
        text: `${threadName(kind, number)} is busy for ${shareText(share)} of the time`,
        page: 'overview',
      },
    ]
  })
}

const threadNames = {
  frontEnd: 'front end',
  partition: 'partition',
  queryThread: 'query thread',
  courier: 'courier',
} as const

/** The name of a thread for people. */
export function threadName(kind: keyof typeof threadNames, number: number): string {
  return kind === 'courier' ? threadNames[kind] : `${threadNames[kind]} ${number}`
}

function restartsFound(restarts: readonly number[], { time_ms, partitions }: Frame): readonly Concern[] {
  const ofBroker = restarts
    .filter((at_ms) => time_ms - at_ms < newly_ms)
    .map(
      (at_ms): Concern => ({
        tone: 'warning',
        text: `the broker was restarted at ${clockText(at_ms)}`,
        page: 'trace',
      }),
    )
  const ofThreads = partitions.restarts.flatMap((times, number): readonly Concern[] =>
    times === 0
      ? []
      : [
          {
            tone: 'warning',
            text: `the thread of partition ${number} died and was replaced (${times})`,
            page: 'trace',
          },
        ],
  )
  return [...ofBroker, ...ofThreads]
}

function linesFound(dropped: number): readonly Concern[] {
  if (dropped === 0) return []
  return [
    {
      tone: 'warning',
      text: `${countText(dropped)} lines of the log could not be written and were dropped`,
      page: 'trace',
    },
  ]
}
