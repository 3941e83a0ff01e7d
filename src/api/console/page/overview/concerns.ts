import { bytesText, clockText, countText, durationText, shareText } from '../format.js'
import type { Live } from '../live-state.js'
import type { Moment } from '../moment.js'
import { type RouteRow, routesOf } from '../requests/routes-of-live.js'
import { alarmsFound, backlogsFound, type Concern, type Found } from './delivery-concerns.js'

/** The share from which a queue, a thread or a disk counts as nearly full or busy. */
const nearlyFull = { queue: 0.8, thread: 0.9, room: 0.8 } as const
/** The share of the latency from which a wait counts as the main cost of an update. */
const mostOfTime = 0.5
/** Shorter waits are no concern, whatever their share; in seconds. */
const noticed_s = 0.002
/** From this time on a request is slow, in seconds; the slowest routes are named. */
const slow_s = 1
const mostSlow = 3
/** How long a restart is reported, or counts as new. */
const newly_ms = 15 * 60_000

/** At most this many concerns are listed. */
const mostListed = 15

/** The concerns, the worst first; empty when all is well. `more` are those that are not listed. */
export function concernsOf({ hello, latest, earlier, recent }: Live, restarts: readonly number[]): Found {
  const { frame } = latest
  const { alarmGroups } = frame
  // A bad request harms the client that sent it, all others lose or delay what others sent.
  const { BadInput, ...ofServices } = shownAlarms(frame)
  const groups = alarmGroups?.filter(({ isOfRoom }) => !isOfRoom) ?? null
  const backlogs = frame.deliveries.backlogs ?? []
  const services = alarmsFound(ofServices, groups, backlogs)
  const clients = alarmsFound(BadInput === undefined ? {} : { BadInput }, groups, backlogs)
  const found = [
    ...roomFound(hello, frame),
    ...partitionsFound(frame),
    ...services.concerns,
    ...backlogsFound(frame, alarmGroups ?? []),
    ...permitsFound(frame.now),
    ...mailboxesFound(hello, frame),
    ...clients.concerns,
    ...slowFound(routesOf(hello, earlier, latest), hello),
    ...(recent === undefined ? [] : [...waitsFound(recent), ...threadsFound(hello, recent, frame.now)]),
    ...restartsFound(restarts, frame),
    ...linesFound(frame.logLinesDropped),
  ].toSorted((one, other) => Number(other.tone === 'bad') - Number(one.tone === 'bad'))
  return {
    concerns: found.slice(0, mostListed),
    more: services.more + clients.more + Math.max(0, found.length - mostListed),
  }
}

type Frame = Live['latest']['frame']

/** Who may not read the alarms is told their numbers: those of full partitions are said by the figures of disk and partitions. */
function shownAlarms({ alarms, alarmGroups, partitions }: Frame): Frame['alarms'] {
  const { DatabaseError, ...others } = alarms
  return alarmGroups === null && partitions.isFull.includes(1) ? others : alarms
}

function roomFound({ map_bytes, keepFree_bytes }: Live['hello'], { disk, partitions }: Frame): readonly Concern[] {
  if (disk.left_bytes === 0) {
    const text = `the disk is full: updates are refused, removals are taken (-dbFreeMin leaves ${bytesText(keepFree_bytes)} free)`
    return [{ tone: 'bad', text, page: 'settings' }]
  }
  const full = partitions.isFull.flatMap((isFull, number) => (isFull === 1 ? [number] : []))
  const refusing: readonly Concern[] =
    full.length === 0
      ? []
      : [
          {
            tone: 'bad',
            text: `${partitionsText(full)} full: updates are refused, removals are taken`,
            page: 'settings',
          },
        ]
  const used = disk.fullestMap
  if (map_bytes <= 0 || used <= nearlyFull.room) return refusing
  const text = `the fullest partition has used ${shareText(used)} of what it may grow to (-dbSizeMax)`
  return [...refusing, { tone: used > 0.95 ? 'bad' : 'warning', text, page: 'settings' }]
}

function partitionsText(numbers: readonly number[]): string {
  return numbers.length === 1 ? `partition ${numbers[0]} is` : `partitions ${numbers.join(', ')} are`
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

function threadsFound(
  { threads }: Live['hello'],
  { busy }: Moment,
  { queriesWaiting }: Frame['now'],
): readonly Concern[] {
  return threads.flatMap(({ kind, number }, at): readonly Concern[] => {
    const share = busy[at] ?? 0
    if (!(share > nearlyFull.thread)) return []
    const text = `${threadName(kind, number)} is busy for ${shareText(share)} of the time`
    if (kind !== 'queryThread') return [{ tone: 'warning', text, page: 'overview' }]
    const waiting = queriesWaiting === 0 ? '' : `, ${countText(queriesWaiting)} more wait`
    return [{ tone: 'warning', text: `${text}: costly queries${waiting}`, page: 'requests' }]
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

function restartsFound(restarts: readonly number[], { time_ms }: Frame): readonly Concern[] {
  return restarts
    .filter((at_ms) => time_ms - at_ms < newly_ms)
    .map(
      (at_ms): Concern => ({
        tone: 'warning',
        text: `the broker was restarted at ${clockText(at_ms)}`,
        page: 'trace',
      }),
    )
}

/** Partitions whose threads died; the worse the more recent. */
function partitionsFound({ time_ms, partitions: { restarts, restarted_ms } }: Frame): readonly Concern[] {
  return restarts.flatMap((times, number): readonly Concern[] => {
    if (times === 0) return []
    const at_ms = restarted_ms[number] ?? 0
    const when = at_ms === 0 ? '' : ` at ${clockText(at_ms)}`
    const often = times === 1 ? '' : `, ${countText(times)} times since the start`
    const text = `the thread of partition ${number} died and was started again${when}${often}`
    return [{ tone: time_ms - at_ms < newly_ms ? 'bad' : 'warning', text, page: 'trace' }]
  })
}

/** Routes of entities whose requests have taken long lately. */
function slowFound(rows: readonly RouteRow[], { routes }: Live['hello']): readonly Concern[] {
  const ofEntities = new Set(
    routes.filter(({ reads, updates }) => reads.length + updates.length > 0).map(({ name }) => name),
  )
  return rows
    .filter(({ route, p99_s, lately }) => lately > 0 && ofEntities.has(route) && p99_s >= slow_s)
    .toSorted((one, other) => other.p99_s - one.p99_s)
    .slice(0, mostSlow)
    .map(({ method, route, p99_s, lately }) => ({
      tone: 'warning',
      text: `${method} ${route} takes up to ${durationText(p99_s)} (${countText(lately)} in ten seconds)`,
      page: 'requests',
    }))
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
