import { mock } from 'node:test'
import { test } from 'tap'
import { alarmGroups } from '../../src/api/console/alarm-groups.js'
import { LiveFeed } from '../../src/api/console/feeds.js'
import { frameInterval_ms, LiveSampler } from '../../src/api/console/live-sampler.js'
import type { EventSink } from '../../src/broker/front-end/event-stream.js'
import type { ReceiverState } from '../../src/delivery/queue/courier-protocol.js'
import { readOptions } from '../../src/flags/command-line.js'
import { Alarms } from '../../src/observe/log/alarms.js'
import { Measures } from '../../src/observe/measure/measures.js'
import type { Milliseconds } from '../../src/time.js'
import { silentLog } from '../given.js'
import { staysWithin } from '../pace.js'
import { until } from '../until.js'

const read = readOptions(['-mutexTimeStat'], {})
if (read.kind !== 'run') throw new Error('the options are wrong')
const { options } = read

function samplerOf(
  measures: Measures,
  alarms: Pick<Alarms, 'counts' | 'active'> = quiet,
  receivers: readonly ReceiverState[] = [],
): LiveSampler {
  return new LiveSampler({
    ...{ measures, options, alarms },
    backlogs: async () => receivers,
    resources: () => [],
    dropped: () => 0,
    disk: { path: '/', keepFree_bytes: 0 },
  })
}
const quiet = new Alarms(silentLog, { relog: false })

const noHistory = { last: () => ({ samples: [] }) }

/** Keeps what it is sent. */
class Kept implements EventSink {
  readonly events: string[] = []

  put(event: Uint8Array): boolean {
    this.events.push(Buffer.from(event).toString())
    return true
  }

  putNewest(event: Uint8Array): void {
    this.put(event)
  }

  get names(): readonly string[] {
    return this.events.map((event) => /^event: (\w+)/.exec(event)?.[1] ?? '')
  }
}

test('there are frames while somebody looks, and the first one comes at once, to everybody', async (t) => {
  mock.timers.enable({ apis: ['setInterval'] })
  t.teardown(() => mock.timers.reset())
  let taken = 0
  const sampler = samplerOf(Measures.make({ frontEnds: 1, partitions: 1, queryThreads: 1 }))
  const frame = () => {
    taken += 1
    return sampler.frame()
  }
  const feed = new LiveFeed({ hello: (mayChange) => sampler.hello(mayChange), frame }, noHistory)
  mock.timers.tick(3 * frameInterval_ms)
  t.equal(taken, 0, 'no frame before anybody looks')
  const [one, other] = [new Kept(), new Kept()]
  const leaveOne = feed.watch('names', one)
  const leaveOther = feed.watch('names', other)
  t.same(
    [one.names, other.names],
    [
      ['hello', 'frame'],
      ['hello', 'frame'],
    ],
  )
  t.equal(taken, 1, 'one frame for all of them')
  mock.timers.tick(frameInterval_ms)
  t.equal(taken, 2, 'one timer for all of them')
  t.equal(one.events.length, 3)
  t.equal(one.events[2], other.events[2], 'the same bytes')
  leaveOne()
  mock.timers.tick(frameInterval_ms)
  t.same([one.events.length, other.events.length], [3, 4])
  leaveOther()
  const frames = taken
  mock.timers.tick(3 * frameInterval_ms)
  t.equal(taken, frames, 'no frame is taken for nobody')
})

test('whoever may not read who is delivered to gets the same frame without names, encoded once for all of them', async (t) => {
  mock.timers.enable({ apis: ['setInterval'] })
  t.teardown(() => mock.timers.reset())
  const alarms = new Alarms(silentLog, { relog: false })
  alarms.raise('NotificationError', 'http://10.0.0.9:5984/notify', 'connection refused')
  const sampler = samplerOf(Measures.make({ frontEnds: 1, partitions: 1, queryThreads: 1 }), alarms)
  let taken = 0
  const frame = () => {
    taken += 1
    return sampler.frame()
  }
  const feed = new LiveFeed({ hello: (mayChange) => sampler.hello(mayChange), frame }, noHistory)
  const viewers = [new Kept(), new Kept(), new Kept(), new Kept()] as const
  const [full, other, short, shorter] = viewers
  const leave = [full, other].map((viewer) => feed.watch('names', viewer))
  leave.push(...[short, shorter].map((viewer) => feed.watch('counts', viewer)))
  mock.timers.tick(frameInterval_ms)
  for (const each of leave) each()
  t.equal(taken, 2, 'one sample for viewers of both kinds')
  t.equal(full.events[2], other.events[2])
  t.equal(short.events[2], shorter.events[2])
  const data = ({ events }: Kept) => JSON.parse(/^data: (.*)$/m.exec(events[2] ?? '')?.[1] ?? '')
  const { deliveries, alarmGroups: groups, ...rest } = data(full)
  t.match(groups, [{ subject: 'http://10.0.0.9:5984/notify', reason: 'connection refused' }])
  t.strictSame(data(short), { ...rest, alarmGroups: null, deliveries: { ...deliveries, backlogs: null } })
  t.match(short.events[0], /"isReadOnly":true/)
})

test('what was before the first frame comes before it, to those who ask', async (t) => {
  const sampler = samplerOf(Measures.make({ frontEnds: 1, partitions: 1, queryThreads: 1 }))
  const asked: number[] = []
  const last = (seconds: number) => {
    asked.push(seconds)
    return { samples: [] }
  }
  const feed = new LiveFeed(sampler, { last })
  const viewers = [new Kept(), new Kept(), new Kept()] as const
  const leave = [
    feed.watch('names', viewers[0]),
    feed.watch('names', viewers[1], 60),
    feed.watch('counts', viewers[2], 1800),
  ]
  for (const each of leave) each()
  t.same(viewers[0].names, ['hello', 'frame'])
  t.same(viewers[1].names, ['hello', 'history', 'frame'])
  t.same(viewers[1].events[1], viewers[2].events[1], 'it names nobody, so that everybody may see it')
  t.same(asked, [60, 1800])
})

test('a frame of 256 busy partitions stays small, and in turns has the distributions of all of them', async (t) => {
  const measures = Measures.make({ frontEnds: 8, partitions: 256, queryThreads: 16 })
  measures.switchPart('semWait', true, process.hrtime.bigint())
  for (let partition = 0; partition < 256; partition += 1) fill(measures, partition)
  const sampler = samplerOf(measures)
  sampler.frame()
  const begun = performance.now()
  const frames = Array.from({ length: 4 }, () => sampler.frame())
  t.comment(`${((performance.now() - begun) / 4).toFixed(1)} ms for a frame`)
  for (const frame of frames) {
    const bytes = JSON.stringify(frame).length
    t.comment(`${bytes} bytes`)
    t.ok(bytes < 64 * 1024, `${bytes} bytes`)
  }
  const shown = frames.flatMap(({ distributions }) => distributions.map(({ partition }) => partition))
  t.same(
    shown.toSorted((one, other) => one - other),
    Array.from({ length: 256 }, (_, partition) => partition),
  )
  t.same(
    frames.map(({ sequence }) => sequence - (frames[0]?.sequence ?? 0)),
    [0, 1, 2, 3],
  )
})

/** What a partition may have measured after a day. */
function fill(measures: Measures, partition: number): void {
  const own = new Measures(measures.memory, 8 + partition)
  const storage = own.storage(partition)
  storage.size(1_234_567, 2 ** 31, 2 ** 36)
  for (const wait_ns of [8_000n, 40_000n, 90_000n, 200_000n, 400_000n, 900_000n, 2_000_000n, 4_000_000n]) {
    for (let times = 0; times < 120; times += 1) {
      own.wait('mailbox', partition).waited(wait_ns)
      own.wait('transaction', partition).waited(wait_ns)
    }
    storage.committed(40, wait_ns)
    storage.logged(4096, wait_ns)
  }
  measures.wait('dbConnectionPool', partition).waited(1_000_003n)
  measures.wait('dbConnectionPool', partition).free()
}

test('the waits of a frame are those of the table, and buckets add up to those that waited', async (t) => {
  const measures = Measures.make({ frontEnds: 1, partitions: 2, queryThreads: 1 })
  measures.switchPart('semWait', true, process.hrtime.bigint())
  measures.wait('dbConnectionPool', 1).waited(123_456_789_012_345_678n)
  measures.wait('dbConnectionPool', 1).free()
  measures.wait('dbConnectionPool', 0).waited(7n)
  const { waits, distributions } = samplerOf(measures).frame()
  t.same(waits?.dbConnectionPool, {
    count: 3,
    waited: 2,
    total_ns: '123456789012345685',
    max_ns: '123456789012345678',
    buckets: [0, 1, ...new Array(18).fill(0), 1],
  })
  t.same(waits?.partitions[1]?.[0], [2, 1, '123456789012345678', '123456789012345678'])
  t.same(
    distributions.map((each) => each.dbConnectionPool),
    [
      [0, 1],
      [19, 1],
    ],
  )
  measures.reset(process.hrtime.bigint())
  const after = samplerOf(measures).frame().waits
  t.same(after?.dbConnectionPool, { count: 0, waited: 0, total_ns: '0', max_ns: '0', buckets: [] })
  t.ok((after?.since_ms ?? 0) >= (waits?.since_ms ?? 0))
  measures.switchPart('semWait', false, process.hrtime.bigint())
  t.equal(samplerOf(measures).frame().waits, null)
})

test('alarms are told by host: of each kind the ten with most of them, and how many hosts there are', async (t) => {
  const alarms = new Alarms(silentLog, { relog: false })
  for (let host = 0; host < 12; host += 1) {
    for (let receiver = 0; receiver <= host; receiver += 1) {
      alarms.raise('NotificationError', `http://user:secret@r${host}.example/${receiver}`, `refused: ${receiver}`)
    }
  }
  alarms.raise('BadInput', '10.0.0.9', 'no JSON')
  alarms.raise('BadInput', '10.0.0.9', 'no JSON at all')
  alarms.raise('DatabaseError', 'partition 1', 'full', undefined, 'room')
  const ofRoom = () => [...alarmGroups(alarms.active(), 10).groups].map(({ kind, isOfRoom }) => [kind, isOfRoom])
  t.same(ofRoom().slice(-2), [
    ['BadInput', false],
    ['DatabaseError', true],
  ])
  alarms.raise('DatabaseError', 'partition 2', 'broken too')
  t.same(ofRoom().at(-1), ['DatabaseError', false], 'one of them is about something else')
  const measures = Measures.make({ frontEnds: 1, partitions: 1, queryThreads: 1 })
  const { alarmGroups: shown, alarms: counts } = samplerOf(measures, alarms).frame()
  const ofKind = (kind: string) => shown?.filter((group) => group.kind === kind) ?? []
  t.equal(ofKind('NotificationError').length, 10)
  t.match(ofKind('NotificationError')[0], {
    ...{ host: 'http://***@r11.example', subject: 'http://***@r11.example/0', alarms: 12, occurrences: 12 },
    reason: 'refused: 11',
  })
  t.match(ofKind('BadInput'), [{ host: '10.0.0.9', alarms: 1, occurrences: 2, reason: 'no JSON at all' }])
  t.match(ofKind('DatabaseError'), [{ host: '', subject: '', alarms: 2, reason: 'broken too' }])
  t.same(counts['NotificationError'], [78, 78, 12])
  t.same(counts['BadInput'], [1, 1, 1])
  t.same(counts['ForwardingError'], [0, 0, 0])
})

test('ten thousand alarms of as many hosts are grouped within a frame', async (t) => {
  const alarms = new Alarms(silentLog, { relog: false })
  for (let host = 0; host < 10_000; host += 1) alarms.raise('NotificationError', `http://r${host}.example/x`, 'timeout')
  const grouped = () => alarmGroups(alarms.active(), 10).hosts.get('NotificationError')
  t.equal(grouped(), 10_000)
  t.ok(await staysWithin(500, grouped))
})

test('a frame has the receivers that most waits for, as they were when that was asked last', async (t) => {
  const state = { subscriptions: 1, ids: [], underWay: 1, queueBytes: 5 }
  const receivers = [
    { ...state, receiver: 'http://slow.example', queueDepth: 7, oldestQueued: 5 as Milliseconds, meanLatency_ms: 480 },
    { ...state, receiver: 'http://empty.example', queueDepth: 0 },
  ]
  const measures = Measures.make({ frontEnds: 1, partitions: 1, queryThreads: 1 })
  const sampler = samplerOf(measures, quiet, receivers)
  t.same(sampler.frame().deliveries.backlogs, [], 'nothing is waited for')
  const backlogs = await until(() => {
    const { backlogs } = sampler.frame().deliveries
    return backlogs !== null && backlogs.length > 0 && backlogs
  }, 'they were answered')
  t.same(backlogs, [{ receiver: 'http://slow.example', depth: 7, oldest_ms: 5, latency_ms: 480 }])
})

test('when the thread of a partition is replaced, the frame says when, also if nobody looked then', async (t) => {
  const measures = Measures.make({ frontEnds: 1, partitions: 2, queryThreads: 1 })
  measures.restarted(1)
  const sampler = samplerOf(measures)
  const { restarts, restarted_ms } = sampler.frame().partitions
  t.same(restarts, [0, 1])
  t.equal(restarted_ms[0], 0)
  t.ok(Math.abs(Date.now() - (restarted_ms[1] ?? 0)) < 60_000)
  t.same(sampler.frame().partitions.restarted_ms, restarted_ms, 'and says it again')
})
