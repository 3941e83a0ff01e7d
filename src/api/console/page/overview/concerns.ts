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

/**
 * Without access to the alarms the page has only their counts; those of full partitions are shown from the figures of disk and
 * partitions.
 */
function shownAlarms({ alarms, alarmGroups, partitions }: Frame): Frame['alarms'] {
  const { DatabaseError, ...others } = alarms
  return alarmGroups === null && partitions.isFull.includes(1) ? others : alarms
}

function roomFound({ map_bytes, keepFree_bytes }: Live['hello'], { disk, partitions }: Frame): readonly Concern[] {
  if (disk.left_bytes === 0) {
    const text = `the disk is full: updates are refused, removals are accepted (-dbFreeMin keeps ${bytesText(keepFree_bytes)} free)`
    const advice = 'Make room on the disk of the data folder. The broker then accepts updates again by itself.'
    return [{ tone: 'bad', text, advice, page: 'settings' }]
  }
  const full = partitions.isFull.flatMap((isFull, number) => (isFull === 1 ? [number] : []))
  const refusing: readonly Concern[] =
    full.length === 0
      ? []
      : [
          {
            tone: 'bad',
            text: `${partitionsText(full)} full: updates are refused, removals are accepted`,
            advice: roomAdvice,
            page: 'settings',
          },
        ]
  const used = disk.fullestMap
  if (map_bytes <= 0 || used <= nearlyFull.room) return refusing
  const text = `the fullest partition has used ${shareText(used)} of what it may grow to (-dbSizeMax)`
  return [...refusing, { tone: used > 0.95 ? 'bad' : 'warning', text, advice: roomAdvice, page: 'settings' }]
}

const roomAdvice = 'Start the broker again with a larger -dbSizeMax, or delete entities.'

function partitionsText(numbers: readonly number[]): string {
  return numbers.length === 1 ? `partition ${numbers[0]} is` : `partitions ${numbers.join(', ')} are`
}

function permitsFound({ permitsFree, permitsTaken, permitsQueued }: Frame['now']): readonly Concern[] {
  const share = permitsTaken / Math.max(1, permitsTaken + permitsFree)
  if (share <= nearlyFull.queue) return []
  const text = `${shareText(share)} of the permits for requests are taken, ${countText(permitsQueued)} requests wait for one`
  const advice =
    'If the threads below are busy, the machine is too small for the load. If not, Waits shows what is slow.'
  return [{ tone: permitsQueued > 0 ? 'bad' : 'warning', text, advice, page: 'waits' }]
}

function mailboxesFound({ mailboxSize }: Live['hello'], { partitions }: Frame): readonly Concern[] {
  return partitions.mailboxDepth.flatMap((depth, number): readonly Concern[] => {
    const share = depth / mailboxSize
    if (share <= nearlyFull.queue) return []
    const text = `the mailbox of partition ${number} is full to ${shareText(share)} (-mailboxSize): beyond it updates are refused`
    const advice = `The partition gets more updates than it can write. Check its disk. ${morePartitions}`
    return [{ tone: 'bad', text, advice, page: 'waits' }]
  })
}

const morePartitions = 'More partitions share the updates (rigel reshard), if there are processors for them.'

const stageTexts = {
  request: {
    text: 'a permit: more requests arrive than are finished',
    advice: 'Let clients send less at a time. If the threads below are idle, a larger -reqPoolSize helps.',
  },
  mailbox: {
    text: 'their partition in its mailbox: its thread does not get to run',
    advice: `The machine is short of processors, or one partition gets most of the updates. ${morePartitions}`,
  },
  transaction: {
    text: "their partition's write transaction: the turn before is under way",
    advice: 'Check whether the disk is slow. Waits shows how long commits take.',
  },
  dbConnectionPool: {
    text: 'a read handle: long scans, or a small pool',
    advice: 'Narrow the queries (record slow requests to see which), or raise -dbPoolSize.',
  },
} as const

function waitsFound({ waits, update, partitions }: Moment): readonly Concern[] {
  const mean_s = update.mean_s
  const ofWaits = Object.entries(stageTexts).flatMap(([name, { text, advice }]): readonly Concern[] => {
    const wait_s = name in stageTexts ? (waits?.[name as keyof typeof stageTexts].mean_s ?? 0) : 0
    if (!(wait_s > noticed_s && wait_s > mostOfTime * mean_s)) return []
    return [
      {
        tone: 'warning',
        text: `updates spend ${shareText(Math.min(1, wait_s / mean_s))} of their time waiting for ${text}`,
        advice,
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
        advice: 'The disk flushes slowly. Give the data folder a faster disk, or one that no other program writes to.',
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
    const advice = threadAdvice[kind]
    if (kind !== 'queryThread') return [{ tone: 'warning', text, advice, page: 'overview' }]
    const waiting = queriesWaiting === 0 ? '' : `, ${countText(queriesWaiting)} more wait`
    return [{ tone: 'warning', text: `${text}: costly queries${waiting}`, advice, page: 'requests' }]
  })
}

const threadNames = {
  frontEnd: 'front end',
  partition: 'partition',
  queryThread: 'query thread',
  courier: 'courier',
} as const

const threadAdvice: Readonly<Record<keyof typeof threadNames, string>> = {
  frontEnd: 'More front ends share the requests (-httpThreads), if there are processors for them.',
  partition: morePartitions,
  queryThread:
    'Record slow requests to see which queries these are. A condition or a pattern reads every entity of the type: ask for ids where you can.',
  courier: 'Let fewer changes notify: give subscriptions a throttling, or fewer attributes in their conditions.',
}

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
        advice: 'The log says why it ended. Nothing that was acknowledged is lost.',
        page: 'overview',
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
    const advice =
      'Nothing that was acknowledged is lost. Requests that were under way got 503. The log says why (worker:died). If it happens again, report it.'
    return [{ tone: time_ms - at_ms < newly_ms ? 'bad' : 'warning', text, advice, page: 'overview' }]
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
      advice: 'Record slow requests to see which these are, and where each spends its time.',
      page: 'requests',
    }))
}

function linesFound(dropped: number): readonly Concern[] {
  if (dropped === 0) return []
  return [
    {
      tone: 'warning',
      text: `${countText(dropped)} lines of the log could not be written and were dropped`,
      advice:
        'What reads the standard output of the broker is too slow. Lower the log level, or switch trace levels off.',
      page: 'trace',
    },
  ]
}
