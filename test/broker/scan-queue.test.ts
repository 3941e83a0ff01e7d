import { type Test, test } from 'tap'
import { ScanQueue, type ScanRun, ScanStops } from '../../src/broker/front-end/scan-queue.js'
import type { Client } from '../../src/broker/operations/api.js'

interface Running extends ScanRun {
  readonly task: string
  readonly end: (text: string | undefined) => void
  readonly fail: (fault: Error) => void
}

/** A queue whose scans are ended by the test, those that are left at its end. */
function queue(t: Test, changed: { long?: number; short?: number; limit?: number; limit_ms?: number } = {}) {
  const running: Running[] = []
  const loads: string[] = []
  const { long = 2, short = 1, limit = 100, limit_ms = 60_000 } = changed
  const stops = new ScanStops(ScanStops.memory(long + short))
  const scans = new ScanQueue<string, string>({
    ...{ long, short, limit, limit_ms, stops },
    changed: (waiting, running) => loads.push(`${waiting} ${running}`),
    run: (task, run) =>
      new Promise((end, fail) => {
        running.push({ ...run, task, end, fail })
      }),
  })
  t.teardown(() => scans.close())
  const of = (task: string): Running => {
    const found = running.findLast((each) => each.task === task)
    if (!found) throw new Error(`${task} has not begun`)
    return found
  }
  return { scans, running, stops, loads, of, begun: () => running.map(({ task }) => task) }
}

function client() {
  let go = () => {}
  const waits: Client = {
    gone: false,
    isTrusted: true,
    whenGone: (act) => {
      go = act
    },
    hold: () => true,
    times: undefined,
    aside: (wait) => wait(),
  }
  return { waits, goes: () => go() }
}

const soon = () => new Promise((resolve) => setImmediate(resolve))

test('scans that are not known to be short take the permits for long scans first, and then are tried', async (t) => {
  const { scans, of, begun } = queue(t)
  const [, , third] = ['a', 'b', 'c'].map((task) => scans.run(task, false))
  t.same(begun(), ['a', 'b', 'c'])
  t.equal(of('a').slices, undefined)
  t.ok(Number(of('c').slices) > 0, 'it has to show that it is short')
  of('c').end('found')
  t.same(await third, { ok: true, value: 'found' })
})

test('what was not done in its trial begins anew with a permit for long scans, before those that were not tried', async (t) => {
  const { scans, of, begun } = queue(t, { long: 1 })
  for (const task of ['a', 'b', 'c']) void scans.run(task, false)
  t.same(begun(), ['a', 'b'])
  of('b').end(undefined)
  await soon()
  t.same(begun(), ['a', 'b', 'c'], 'the next one is tried')
  of('a').end('done')
  await soon()
  t.same(begun(), ['a', 'b', 'c', 'b'])
  t.equal(of('b').slices, undefined)
})

test('a short scan passes those that may be long, however many wait', async (t) => {
  const { scans, of, begun } = queue(t, { long: 1 })
  for (const task of ['a', 'b', 'c', 'd']) void scans.run(task, false)
  void scans.run('short', true)
  of('b').end(undefined)
  await soon()
  t.same(begun(), ['a', 'b', 'short'])
  of('short').end('found')
  await soon()
  t.same(begun(), ['a', 'b', 'short', 'c'])
})

test('a scan whose client goes is told to end, and one that still waits never begins', async (t) => {
  const { scans, of, begun, stops } = queue(t, { long: 1 })
  const [one, three] = [client(), client()]
  const outcomes = [scans.run('a', false, one.waits), scans.run('b', false), scans.run('c', false, three.waits)]
  one.goes()
  three.goes()
  t.same(await outcomes[0], { ok: false, error: { kind: 'queryLate' } })
  t.same(await outcomes[2], { ok: false, error: { kind: 'queryLate' } })
  t.ok(stops.isStopped(of('a').permit))
  t.notOk(stops.isStopped(of('b').permit))
  void scans.run('d', false)
  t.same(begun(), ['a', 'b'], 'its place is free when it has ended')
  of('a').end(undefined)
  await soon()
  t.same(begun(), ['a', 'b', 'd'])
  t.notOk(stops.isStopped(of('d').permit), 'who comes after it is not stopped with it')
})

test('a scan that is not done in its time is ended, waiting or running', async (t) => {
  const { scans, of, stops } = queue(t, { long: 1, short: 0, limit_ms: 20 })
  const late = { ok: false, error: { kind: 'queryLate' } }
  t.same(await Promise.all([scans.run('a', false), scans.run('b', false)]), [late, late])
  t.ok(stops.isStopped(of('a').permit))
})

test('no more wait than may, and a scan that fails gives its place on', async (t) => {
  const { scans, of, begun } = queue(t, { long: 1, short: 0, limit: 1 })
  const first = scans.run('a', false)
  void scans.run('b', false)
  t.same(await scans.run('c', false), { ok: false, error: { kind: 'queriesFull' } })
  of('a').fail(new Error('the thread died'))
  await t.rejects(first, /the thread died/)
  t.same(begun(), ['a', 'b'])
})

test('it is told how many wait and how many run, whenever that changes', async (t) => {
  const { scans, of, loads } = queue(t, { long: 1, short: 0 })
  const first = scans.run('a', false)
  const { waits, goes } = client()
  const second = scans.run('b', false, waits)
  t.equal(loads.at(-1), '1 1')
  goes()
  await second
  t.equal(loads.at(-1), '0 1')
  of('a').end('found')
  await first
  await soon()
  t.equal(loads.at(-1), '0 0')
})

test('closing ends everything', async (t) => {
  const { scans, of, stops } = queue(t, { long: 1, short: 0 })
  const requests = [scans.run('a', false), scans.run('b', true)]
  scans.close()
  for (const outcome of await Promise.all(requests)) t.match(outcome, { ok: false })
  t.ok(stops.isStopped(of('a').permit))
  t.match(await scans.run('c', true), { ok: false })
})
