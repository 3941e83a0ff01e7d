import { test } from 'tap'
import type { LiveAlarmGroup, LiveFrame } from '../../src/api/console/live-frame.js'
import { areaOf, world } from '../../src/api/console/page/entities/map-area.js'
import { type Moment, momentOf, type WholeFrame, waitingIn } from '../../src/api/console/page/moment.js'
import { concernsOf } from '../../src/api/console/page/overview/concerns.js'
import { backlogTone, receiverState } from '../../src/api/console/page/receiver-state.js'
import { routesOf } from '../../src/api/console/page/requests/routes-of-live.js'
import type { ShownReceiver } from '../../src/api/console/shapes.js'
import { givenFrame, givenHello } from './given-live.js'

function whole(frame: LiveFrame): WholeFrame {
  return { frame, distributions: new Map() }
}

/** What happens in two seconds in which nothing happens. */
const calm = momentOf(givenHello, whole(givenFrame()), whole(givenFrame({ time_ms: 12_000 })))

/** The texts of what is to be looked at, and how many there are beyond them. */
function found(
  changed: Partial<LiveFrame>,
  recent: Partial<Moment> = {},
  restarts: readonly number[] = [],
  hello = givenHello,
) {
  const { concerns, more } = concernsOf(
    {
      hello,
      latest: whole(givenFrame(changed)),
      earlier: whole(givenFrame({ time_ms: 0 })),
      recent: { ...calm, ...recent },
    },
    restarts,
  )
  for (const { text, advice } of concerns) if (!/^[A-Z].*\.$/.test(advice)) throw new Error(`no advice: ${text}`)
  return { texts: concerns.map(({ tone, text }) => `${tone}: ${text}`), more, pages: concerns.map(({ page }) => page) }
}

function concernTexts(...given: Parameters<typeof found>): readonly string[] {
  return found(...given).texts
}

const spread = { p50_s: 0.005, p99_s: 0.02, mean_s: 0.005, count: 10 }
const noWait = { p50_s: 0, p99_s: 0, mean_s: 0, count: 10 }
const { partitions, deliveries, now, disk } = givenFrame()
const quarterPast = new Date().setHours(19, 15, 20)

function group(kind: string, host: string, more: Partial<LiveAlarmGroup> = {}): LiveAlarmGroup {
  const times = { since_ms: quarterPast, occurrences: 1, last_ms: quarterPast }
  const reason = 'trouble: connection refused'
  return { ...{ kind, host, subject: host, alarms: 1, reason, isOfRoom: false }, ...times, ...more }
}

test('nothing is said when all is well', async (t) => {
  t.same(found({}), { texts: [], more: 0, pages: [] })
  t.same(concernTexts({ now: { ...now, permitsFree: 30, permitsTaken: 70 } }), [], 'a queue that is not nearly full')
  t.same(
    concernTexts({ partitions: { ...partitions, mailboxDepth: [800, 0] } }),
    [],
    'a mailbox that is not nearly full',
  )
  t.same(concernTexts({ alarms: { NotificationError: [0, 5, 0] } }), [], 'an alarm that is over')
  const burst = [{ receiver: 'http://a', depth: 900, oldest_ms: 9_000, latency_ms: 3 }]
  t.same(concernTexts({ deliveries: { ...deliveries, backlogs: burst } }), [], 'a burst that was made a second ago')
})

test('receivers that fail are said by host, with why, since when, and how much waits for them', async (t) => {
  const { texts, pages } = found({
    alarms: { NotificationError: [74, 80, 2] },
    alarmGroups: [
      group('NotificationError', 'http://127.0.0.1:28142', { alarms: 73, occurrences: 900 }),
      group('NotificationError', 'http://b', { subject: 'http://b/x', occurrences: 3278, reason: 'refused: 404' }),
    ],
    deliveries: {
      ...deliveries,
      backlogs: [{ receiver: 'http://127.0.0.1:28142', depth: 12_400, oldest_ms: 0, latency_ms: 1 }],
    },
  })
  t.same(texts, [
    'bad: 127.0.0.1:28142: 73 receivers fail, connection refused since 19:15, 12,400 wait',
    'bad: receiver http://b/x fails, status 404 since 19:15, 3,278 times',
  ])
  t.same(pages, ['receivers', 'receivers'])
})

test('of very many hosts a few are listed, and the number of the others', async (t) => {
  const hosts = Array.from({ length: 10 }, (_, at) => group('NotificationError', `http://host${at}`))
  const { texts, more } = found({
    alarms: { NotificationError: [76, 76, 71], BadInput: [1, 1, 1] },
    alarmGroups: [...hosts, group('BadInput', '10.0.0.7', { occurrences: 1204, reason: 'JSON Parse Error' })],
    disk: { ...disk, left_bytes: 0 },
  })
  t.equal(texts.length, 7)
  t.match(texts[0], /the disk is full/, 'what stops everybody comes first')
  t.equal(more, 66)
  t.equal(texts.at(-1), 'bad: client 10.0.0.7 sends bad requests, JSON Parse Error since 19:15, 1,204 times')
})

test('what loses or delays data comes before the bad requests of a client', async (t) => {
  const { texts } = found({
    alarms: {
      ...{ BadInput: [1, 1, 1], Unheard: [1, 1, 1], ForwardingError: [1, 1, 1] },
      ...{ NotificationError: [1, 1, 1], DatabaseError: [1, 1, 1] },
    },
    alarmGroups: [
      ...[group('BadInput', '10.0.0.7'), group('Unheard', ''), group('ForwardingError', 'http://provider')],
      ...[group('NotificationError', 'http://receiver'), group('DatabaseError', '')],
    ],
    deliveries: {
      ...deliveries,
      backlogs: [{ receiver: 'http://slow', depth: 5, oldest_ms: -137_000, latency_ms: 480 }],
    },
    partitions: { ...partitions, mailboxDepth: [900, 0] },
  })
  t.same(
    texts.map((text) => text.split(' ').slice(1, 4).join(' ')),
    [
      'the storage fails,',
      'receiver http://receiver fails,',
      'provider http://provider fails,',
      'alarm Unheard, connection',
    ].concat(['slow: 5 notifications', 'the mailbox of', 'client 10.0.0.7 sends']),
  )
})

test('a full partition is said once: by its figures, not by its alarm as well', async (t) => {
  const full = { partitions: { ...partitions, isFull: [1, 0] }, alarms: { DatabaseError: [1, 1, 1] } as const }
  const said = [/^bad: partition 0 is full/]
  const alarm = group('DatabaseError', '', { reason: 'whatever its words are', isOfRoom: true })
  t.match(concernTexts({ ...full, alarmGroups: [alarm] }), said)
  t.equal(concernTexts({ ...full, alarmGroups: [alarm] }).length, 1)
  t.equal(concernTexts({ ...full, alarmGroups: null }).length, 1)
  t.equal(concernTexts({ ...full, alarmGroups: [{ ...alarm, isOfRoom: false }] }).length, 2, 'another failure is said')
})

test('what waits for inactive subscriptions is not late', async (t) => {
  const withheld = { ...deliveries, backlogs: null, outboxes: [[35_204, 1]] as const, withheld: 35_204 }
  t.same(concernTexts({ alarmGroups: null, deliveries: withheld }), [])
  t.same(waitingIn(givenFrame({ deliveries: { ...withheld, withheld: 35_200, oldest_ms: 8_000 } })), {
    ...{ depth: 4, lag_s: 2 },
  })
})

test('who may not read the alarms is told how many there are', async (t) => {
  const unnamed = { alarmGroups: null, deliveries: { ...deliveries, backlogs: null } }
  t.same(concernTexts({ ...unnamed, alarms: { NotificationError: [3, 3, 2], BadInput: [1, 1, 1] } }), [
    'bad: 3 receivers fail',
    'bad: a client sends bad requests',
  ])
  const behind = { ...deliveries, backlogs: null, oldest_ms: -137_000, outboxes: [[35_204, 1]] as const }
  t.same(concernTexts({ ...unnamed, deliveries: behind }), [
    'bad: 35,204 notifications wait, the oldest for 2 min 27 s',
  ])
})

test('a receiver that is far behind is a concern, also while its attempts succeed', async (t) => {
  const backlogs = [
    { receiver: 'http://slow.example:28142', depth: 35_204, oldest_ms: -137_000, latency_ms: 480 },
    { receiver: 'mqtt://me@broker.example:1883', depth: 1, oldest_ms: -30_000, latency_ms: null },
  ]
  t.same(concernTexts({ deliveries: { ...deliveries, backlogs } }), [
    'bad: slow.example:28142: 35,204 notifications wait, the oldest for 2 min 27 s, an attempt takes 480 ms',
    'warning: broker.example:1883: 1 notification waits, the oldest for 40.0 s',
  ])
  t.same(
    [backlogTone(0, 999), backlogTone(900, 29), backlogTone(900, 30), backlogTone(1000, 5), backlogTone(1, 120)],
    [undefined, undefined, 'warning', 'warning', 'bad'],
  )
})

test('the state of a receiver is failing, behind or well', async (t) => {
  const at = (ms: number) => new Date(ms).toISOString()
  const nothing = { receiver: 'http://a', subscriptions: 1, ids: [], underWay: 0, queueDepth: 0, queueBytes: 0 }
  const well = { ...nothing, accepted: 5, lastSuccess: at(1_000) }
  const state = (row: ShownReceiver) => receiverState(row, 200_000)
  t.same(state(nothing), { tone: 'plain', text: 'nothing sent yet' })
  t.same(state({ ...well, queueDepth: 5, oldestQueued: at(199_000) }), { tone: 'good', text: 'well' })
  t.same(state({ ...well, queueDepth: 35_204, oldestQueued: at(53_000) }), { tone: 'bad', text: 'behind' })
  t.same(state({ ...well, lastFailure: at(2_000) }), { tone: 'bad', text: 'failing' })
})

test('each rule of what to look at has a text, the worst first', async (t) => {
  const rules: readonly (readonly [readonly string[], RegExp])[] = [
    [
      concernTexts({ now: { ...now, permitsFree: 10, permitsTaken: 90, permitsQueued: 7 } }),
      /^bad: 90 % of the permits .* 7 requests wait/,
    ],
    [
      concernTexts({ disk: { ...disk, fullestMap: 0.85 } }),
      /^warning: the fullest partition has used 85 %.*-dbSizeMax/,
    ],
    [concernTexts({ disk: { ...disk, left_bytes: 0 } }), /^bad: the disk is full/],
    [concernTexts({ partitions: { ...partitions, isFull: [1, 0] } }), /^bad: partition 0 is full: updates are refused/],
    [
      concernTexts({ partitions: { ...partitions, mailboxDepth: [801, 0] } }),
      /^bad: the mailbox of partition 0 is full to 80 %.*-mailboxSize/,
    ],
    [
      concernTexts({ partitions: { ...partitions, restarts: [2, 0], restarted_ms: [9_000, 0] } }),
      /^bad: the thread of partition 0 died and was started again at \d\d:\d\d:\d\d, 2 times since the start$/,
    ],
    [
      concernTexts({ time_ms: 10_000_000, partitions: { ...partitions, restarts: [1, 0] } }),
      /^warning: the thread of partition 0 died and was started again$/,
    ],
    [
      concernTexts({ alarms: { FileError: [1, 1, 1] }, alarmGroups: [group('FileError', '')] }),
      /^bad: alarm FileError/,
    ],
    [concernTexts({ logLinesDropped: 1200 }), /^warning: 1,200 lines of the log/],
    [concernTexts({}, { busy: [0.95, 0.1, 0.1, 0.1] }), /^warning: front end 0 is busy for 95 %/],
    [
      concernTexts({ now: { ...now, queriesWaiting: 5 } }, { busy: [0, 0, 0, 0, 0.98] }),
      /^warning: query thread 0 is busy for 98 % of the time: costly queries, 5 more wait$/,
    ],
    [
      concernTexts({ requests: [{ route: 1, method: 0, codes: [0, 3], durations: [3, 3], total_s: 12 }] }, {}, [], {
        ...givenHello,
        durationBounds_s: [0.1, 1, 4.2],
      }),
      /^warning: GET \/v2\/entities takes up to 4.20 s \(3 in ten seconds\)$/,
    ],
    [concernTexts({}, {}, [9_000]), /^warning: the broker was restarted/],
    [
      concernTexts(
        {},
        {
          update: spread,
          waits: {
            request: noWait,
            mailbox: { ...noWait, mean_s: 0.004 },
            transaction: noWait,
            dbConnectionPool: noWait,
          },
        },
      ),
      /^warning: updates spend 80 % of their time waiting for their partition in its mailbox/,
    ],
    [
      concernTexts(
        {},
        { partitions: calm.partitions.map((each) => ({ ...each, commitShare: each.number * 0.7, sync: spread })) },
      ),
      /^warning: partition 1 waits for the disk \(commit 70 % of its time\)$/,
    ],
  ]
  for (const [sentences, expected] of rules) {
    t.equal(sentences.length, 1, `${expected}: ${sentences}`)
    t.match(sentences[0], expected)
  }
  t.match(concernTexts({ logLinesDropped: 1, disk: { ...disk, left_bytes: 0 } }), [/^bad/, /^warning/])
})

test('a map opens on its points, with a margin; without points on the world', async (t) => {
  t.same(areaOf([]), world)
  const { west, south, east, north } = areaOf([10, 50, 12, 54])
  t.ok(west < 10 && west > 9.5 && east > 12 && east < 12.5 && south < 50 && south > 49 && north > 54 && north < 55)
  const one = areaOf([180, 90])
  t.ok(one.west < 180 && one.east === 180 && one.south < 90 && one.north === 90, 'within the earth')
})

test('errors are those of the method that had them, and the requests of the console are left out', async (t) => {
  const requests = [0, 1].map((method) => ({ route: 1, method, codes: [0, 5], durations: [0, 5], total_s: 0.1 }))
  const own = { route: 2, method: 0, codes: [1, 900], durations: [0, 900], total_s: 0.1 }
  const rows = routesOf(
    givenHello,
    undefined,
    whole(
      givenFrame({
        requests: [...requests, own],
        errors: [
          [1, 1, 0, 4],
          [2, 0, 0, 900],
        ],
      }),
    ),
  )
  t.match(rows, [
    { method: 'GET', route: '/v2/entities', errors: '' },
    { method: 'POST', route: '/v2/entities', errors: '404: 4' },
  ])
  t.equal(rows.length, 2)
})
