import { setTimeout as delay } from 'node:timers/promises'
import { test } from 'tap'
import { LoopSteps, logLongSteps, StepTable } from '../../src/observe/measure/steps.js'
import { Switches } from '../../src/threads/shared-memory/switches.js'
import { type Line, notedLog } from '../http/given.js'
import { until } from '../until.js'

const minute = 60_000_000_000n

test('the longest step counts for a minute at least and for two at most', async (t) => {
  const memory = StepTable.make(2, 0n)
  const [table, read] = [new StepTable(memory), new StepTable(memory)]
  table.ended(1, 70n, 5n * minute)
  table.ended(1, 9n, 5n * minute + 1n)
  t.equal(read.longest(1, 5n * minute + 2n), 70n)
  t.equal(read.longest(0, 5n * minute + 2n), 0n)
  t.equal(read.longest(1, 7n * minute - 1n), 70n)
  t.equal(read.longest(1, 7n * minute), 0n)
  table.ended(1, 3n, 6n * minute)
  t.equal(read.longest(1, 6n * minute), 70n)
  table.ended(1, 4n, 7n * minute)
  t.equal(read.longest(1, 7n * minute), 4n)
  table.ended(1, 2n, 9n * minute)
  t.equal(read.longest(1, 9n * minute), 2n)
})

test('the longest of the steps that were too long is taken once, as a text that is cut where it is too long', async (t) => {
  const table = new StepTable(StepTable.make(2, 0n))
  t.equal(table.takeLong(1), undefined)
  table.warn(1, { length: 5n, text: 'POST /v2/op/update' })
  table.warn(1, { length: 4n, text: 'shorter' })
  t.same(table.takeLong(1), { length: 5n, text: 'POST /v2/op/update', count: 2 })
  t.equal(table.takeLong(1), undefined)
  t.equal(table.takeLong(0), undefined)
  table.warn(1, { length: 2n, text: 'x'.repeat(2000) })
  t.equal(table.takeLong(1)?.text, 'x'.repeat(512))
  table.warn(1, { length: 1n, text: 'short' })
  t.equal(table.takeLong(1)?.text, 'short')
})

function busy(ms: number): void {
  const until = performance.now() + ms
  while (performance.now() < until);
}

interface Watched {
  readonly steps: LoopSteps
  readonly table: StepTable
  readonly lines: Line[]
  readonly switches: Switches
}

function watched(t: { teardown(end: () => void): void }, stepWarning_ms: number): Watched {
  const table = new StepTable(StepTable.make(1, 0n))
  const switches = new Switches()
  switches.set('stepWarning_ms', stepWarning_ms)
  const steps = new LoopSteps(table, 0, switches)
  const lines: Line[] = []
  const stop = steps.watch()
  const silence = logLongSteps(table, [{ name: 'front end 0', row: 0 }], notedLog(lines, switches))
  t.teardown(stop)
  t.teardown(silence)
  return { steps, table, lines, switches }
}

test('a step that has a name and lasts too long is a warning with what it was and how long that is', async (t) => {
  const { steps, table, lines } = watched(t, 30)
  const isNamed = ({ level, message }: Line) =>
    level === 'WARN' && /^front end 0 was held up for \d+ ms: POST \/v2\/op\/update, 1234 bytes; /.test(message)
  // Where this process gets no processor beside it, the step is the smaller part of what the timer finds: then once more.
  await until(async () => {
    const since = steps.begin()
    busy(60)
    t.ok(steps.isLong(since))
    steps.name('POST /v2/op/update', 1234)
    t.notOk(steps.isLong(performance.now()), 'a shorter one is not named')
    await delay(700)
    return lines.some(isNamed)
  }, 'the step is named')
  t.ok(table.longest(0, process.hrtime.bigint()) >= 60_000_000n)
})

test('a step that nobody has named is found', async (t) => {
  const { lines, table } = watched(t, 100)
  // Other processes may leave this one too little of the processors to be taken for work: then once more.
  await until(async () => {
    await delay(150)
    busy(1500)
    await delay(700)
    return lines.length > 0 && table.longest(0, process.hrtime.bigint()) >= 1_000_000_000n
  })
  t.match(lines[0], {
    level: 'WARN',
    message: /^front end 0 was held up for \d+ ms: unnamed work; the process used \d+ ms/,
  })
})

test('work without a name is told with the longest that has one', async (t) => {
  const { steps, lines } = watched(t, 100)
  await until(async () => {
    await delay(150)
    const since = steps.begin()
    busy(60)
    if (steps.isLong(since)) steps.name('a turn of 1 command (sweep)', 1)
    busy(1500)
    await delay(700)
    return lines.some(({ message }) =>
      /: unnamed work; the longest work with a name took \d+ ms: a turn of 1 command \(sweep\), 1 byte; /.test(message),
    )
  }, 'both are told')
})

test('what is worked on in slices names the steps that have no name', async (t) => {
  const { steps, lines } = watched(t, 100)
  const subject = { stepName: 'POST /v2/op/update', step_bytes: 99 }
  await until(async () => {
    await delay(150)
    steps.beginSlices(subject)
    busy(1500)
    steps.endSlices(subject)
    await delay(700)
    return lines.some(({ message }) => /: a slice of POST \/v2\/op\/update, 99 bytes, or unnamed work; /.test(message))
  }, 'the slice is named')
})

test('without a limit nothing is logged, and the longest step is known all the same', async (t) => {
  const { steps, lines, table } = watched(t, 0)
  const since = steps.begin()
  busy(60)
  if (steps.isLong(since)) steps.name('GET /version', 0)
  await until(() => table.longest(0, process.hrtime.bigint()) !== 0n)
  await delay(600)
  t.same(lines, [])
})
