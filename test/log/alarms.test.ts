import { mock } from 'node:test'
import { type Test, test } from 'tap'
import { Alarms, startSummaries, summaryLines } from '../../src/observe/log/alarms.js'
import { type Line, LineLog } from '../../src/observe/log/log.js'
import { traceArea } from '../../src/observe/log/trace.js'
import { logLevels, Switches } from '../../src/threads/shared-memory/switches.js'

function given({ relog = false, kept = 10_000, traced = false } = {}) {
  const lines: Line[] = []
  const switches = new Switches()
  switches.set('logLevel', logLevels.indexOf('WARN'))
  switches.traces[traceArea.alarm] = Number(traced)
  const log = new LineLog(switches, (line) => lines.push(line))
  return {
    alarms: new Alarms(log, { relog, mostKept: kept }),
    takeLines: () => lines.splice(0).map(({ level, message }) => `${level} ${message}`),
  }
}

test('an alarm is raised once and released once', async (t) => {
  const { alarms, takeLines } = given()
  alarms.raise('ForwardingError', 'http://a/', 'timeout')
  alarms.raise('ForwardingError', 'http://a/', 'timeout')
  alarms.raise('ForwardingError', 'http://b/', 'timeout')
  t.same(takeLines(), [
    'WARN Raising alarm ForwardingError http://a/: timeout',
    'WARN Raising alarm ForwardingError http://b/: timeout',
  ])
  alarms.release('ForwardingError', 'http://a/')
  alarms.release('ForwardingError', 'http://a/')
  alarms.release('ForwardingError', 'unheard-of')
  t.same(takeLines(), ['WARN Releasing alarm ForwardingError http://a/'])
  t.same(alarms.counts.ForwardingError, { active: 1, raised: 2, released: 1, relapsed: 0 })
})

test('a client that mixes good and bad requests has two lines a minute', async (t) => {
  const { alarms, takeLines, pass_s } = withClock(t)
  const seen: number[] = []
  for (let minute = 0; minute < 3; minute += 1) {
    for (let request = 0; request < 600; request += 1) {
      alarms.raise('BadInput', '10.2.0.9', 'JSON Parse Error')
      alarms.release('BadInput', '10.2.0.9')
      pass_s(0.1)
    }
    seen.push(takeLines().length)
  }
  t.ok(
    seen.every((lines) => lines <= 2),
    seen.join(),
  )
  t.ok(seen.every((lines) => lines > 0))
  pass_s(60)
  t.match(alarms.counts.BadInput, { active: 0 })
})

test('a release is held for as long as the condition keeps away, and a bad request ends the hold', async (t) => {
  const { alarms, takeLines, pass_s } = withClock(t)
  alarms.raise('BadInput', '10.2.0.9', 'JSON Parse Error')
  pass_s(10)
  alarms.release('BadInput', '10.2.0.9')
  t.match(alarms.counts.BadInput, { active: 1, released: 0 }, 'it is held')
  alarms.raise('BadInput', '10.2.0.9', 'JSON Parse Error')
  pass_s(120)
  t.same(takeLines(), ['WARN Raising alarm BadInput 10.2.0.9: JSON Parse Error'], 'the last request was bad')
  alarms.release('BadInput', '10.2.0.9')
  t.same(takeLines(), ['WARN Releasing alarm BadInput 10.2.0.9'], 'after a minute nothing is held')
  t.same(alarms.counts.BadInput, { active: 0, raised: 1, released: 1, relapsed: 1 })
})

test('bad requests that name another client each have 20 lines in 10 s, and the next line tells how many were left out', async (t) => {
  const { alarms, takeLines, pass_s } = withClock(t)
  for (let at = 0; at < 15_000; at += 1) alarms.raise('BadInput', `client ${at}`, 'JSON Parse Error')
  t.match(alarms.counts.BadInput, { active: 10_000, raised: 15_000, released: 5_000 }, 'each is counted')
  t.equal(takeLines().length, 20)
  alarms.raise('ForwardingError', 'http://a/', 'timeout')
  t.same(takeLines(), ['WARN Raising alarm ForwardingError http://a/: timeout'], 'other kinds have their lines')
  pass_s(10)
  for (const name of ['a', 'b']) alarms.raise('BadInput', name, 'JSON Parse Error')
  const raised = (name: string) => `WARN Raising alarm BadInput ${name}: JSON Parse Error`
  const [first, , third] = takeLines()
  t.same(first, `${raised('a')} (19981 lines about other alarms BadInput left out before)`)
  t.same(third, raised('b'))
})

/** As `given`, with a clock that only passes when it is told to. */
function withClock(t: Test) {
  mock.timers.enable({ apis: ['setTimeout'] })
  let now = 0
  const clock = mock.method(performance, 'now', () => now)
  t.teardown(() => {
    clock.mock.restore()
    mock.timers.reset()
  })
  const pass_s = (seconds: number): void => {
    now += seconds * 1000
    mock.timers.tick(seconds * 1000)
  }
  return { ...given(), pass_s }
}

test('a DatabaseError is an error and shows no subject; a URL shows no secrets', async (t) => {
  const { alarms, takeLines } = given()
  alarms.raise('DatabaseError', 'partition 1', 'disk full')
  alarms.raise('NotificationError', 'http://me:pass@there/', 'refused: 404')
  t.same(takeLines(), [
    'ERROR Raising alarm DatabaseError: disk full',
    'WARN Raising alarm NotificationError http://***@there/: refused: 404',
  ])
})

test('repetitions are logged with -relogAlarms', async (t) => {
  const { alarms, takeLines } = given({ relog: true })
  alarms.raise('NotificationError', 'http://there/', 'first')
  alarms.raise('NotificationError', 'http://there/', 'second')
  t.same(takeLines()[1], 'WARN Repeated NotificationError http://there/: second')
})

test('every alarm is traced on level 243, also the repeated ones', async (t) => {
  const { alarms, takeLines } = given({ traced: true })
  alarms.raise('NotificationError', 'http://there/', 'first')
  alarms.raise('NotificationError', 'http://there/', 'second')
  t.same(
    takeLines().filter((line) => line.startsWith('DEBUG')),
    [
      'DEBUG Raising alarm NotificationError http://there/: first',
      'DEBUG Repeated NotificationError http://there/: second',
    ],
  )
})

test('beyond the limit the oldest alarm is forgotten, which counts as its release and is logged', async (t) => {
  const { alarms, takeLines } = given({ kept: 2 })
  for (const url of ['a', 'b', 'c']) alarms.raise('ForwardingError', url, 'bad')
  t.same(alarms.counts.ForwardingError, { active: 2, raised: 3, released: 1, relapsed: 0 })
  t.match(takeLines().at(-1), /^WARN Releasing alarm ForwardingError a \(forgotten/)
  alarms.release('ForwardingError', 'a')
  t.same(takeLines(), [], 'the forgotten one')
  alarms.release('ForwardingError', 'b')
  t.same(takeLines(), ['WARN Releasing alarm ForwardingError b'])
})

test('a summary says what there is and what is new', async (t) => {
  const { alarms } = given()
  alarms.raise('ForwardingError', 'a', 'bad')
  const before = { transactions: 2300, alarms: alarms.counts }
  alarms.release('ForwardingError', 'a')
  alarms.raise('ForwardingError', 'b', 'bad')
  alarms.raise('DatabaseError', '', 'full')
  t.same(summaryLines({ transactions: 2345n, alarms: alarms.counts }, before), [
    'Transactions: 2345 (new: 45)',
    'DB status: erroneous, raised: (total: 1, new: 1), released: (total: 0, new: 0)',
    'Notification failure active alarms: 0, raised: (total: 0, new: 0), released: (total: 0, new: 0)',
    'Forwarding failure active alarms: 1, raised: (total: 2, new: 1), released: (total: 1, new: 1)',
    'MQTT connection failure active alarms: 0, raised: (total: 0, new: 0), released: (total: 0, new: 0)',
    'Bad input active alarms: 0, raised: (total: 0, new: 0), released: (total: 0, new: 0)',
  ])
})

test('summaries come once per period, also when it is longer than a timer can hold', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const { alarms } = given()
  const summaries: string[] = []
  const counts = () => ({ transactions: 7, alarms: alarms.counts })
  const stop = startSummaries(2_678_400, counts, { summary: (_op, message) => summaries.push(message) })
  const day = () => mock.timers.tick(86_400_000)
  for (let days = 0; days < 30; days += 1) day()
  t.equal(summaries.length, 0)
  day()
  t.equal(summaries.length, 6)
  for (let days = 0; days < 31; days += 1) day()
  t.equal(summaries.length, 12)
  stop()
  for (let days = 0; days < 31; days += 1) day()
  t.equal(summaries.length, 12)
})
