import { test } from 'tap'
import { applyUpdate } from '../../src/model/context/apply.js'
import type { Entity } from '../../src/model/context/entity.js'
import type { UpdateCommand } from '../../src/model/context/update.js'
import { changeBy } from '../../src/model/subscription/change.js'
import { Matcher } from '../../src/model/subscription/matcher.js'
import type { Facts, LineContext } from '../../src/observe/log/log.js'
import type { TraceArea } from '../../src/observe/log/trace.js'
import { at, command, given, id, metadata, rendering, silentLog } from '../given.js'
import { clock, exact, nth, nthId, shortBody } from './given.js'

interface TraceLine {
  readonly area: TraceArea
  readonly facts: Facts | undefined
  readonly context: LineContext | undefined
}

/** Matches whose lines of these areas are kept. */
function traced(...areas: readonly TraceArea[]) {
  const lines: TraceLine[] = []
  const isTraced = (area: TraceArea) => areas.includes(area)
  const trace = (area: TraceArea, _message: string, facts?: Facts, context?: LineContext) => {
    lines.push({ area, facts, context })
  }
  const matcher = new Matcher({
    legacyBody: shortBody,
    ...rendering,
    log: { ...silentLog, isTraced, trace },
    memory_bytes: 10_000,
  })
  let held: readonly Entity[] = []
  const update = (next: UpdateCommand): readonly TraceLine[] => {
    lines.splice(0)
    for (const effect of applyUpdate(held, next).effects) {
      if (effect.kind === 'put') matcher.match(changeBy(next, effect), next)
      held = [effect.entity]
    }
    matcher.commit()
    return [...lines]
  }
  return { matcher, update }
}

test('traces say which subscriptions a change matches and why others are silent', async (t) => {
  const { matcher, update } = traced('subscription.match')
  matcher.put(nth(1))
  matcher.put(nth(2, { onChange: ['door'] }))
  matcher.put(nth(3, { expires: at(0) }))
  matcher.put(nth(4, { attributes: ['door'] }))
  matcher.put(nth(5, { throttling_ms: 60_000 }, clock(1_700_000_000_000)))
  matcher.put(nth(6, { selectors: [exact(id('Tank1'))] }))
  const lines = update(command('APPEND', 'Silo1', [given('level', '1')], { time: at(1_700_000_000_001) }))
  const whys = new Map(lines.map(({ facts }) => [facts?.['subscription'], facts?.['why']]))
  t.same(
    [1, 2, 3, 4, 5].map((order) => whys.get(nthId(order))),
    [undefined, 'not triggered', 'expired', 'nothing to show', 'throttled'],
  )
  t.equal(lines.length, 5)
  t.match(lines[0]?.context, { corr: 'corr-1', srv: '<none>', subsrv: '/' })
})

test('traces say that a notification is due and what triggered it, or that throttling holds it back', async (t) => {
  const { matcher, update } = traced('notify', 'notify.throttle')
  matcher.put(nth(1, { onChange: ['level'], throttling_ms: 1000 }))
  const facts = { subscription: nthId(1), entity: 'Silo1' }
  t.match(update(command('APPEND', 'Silo1', [given('level', '1'), given('door', 'shut')], { time: at(5000) })), [
    { area: 'notify', facts: { ...facts, trigger: 'level' } },
  ])
  t.match(update(command('APPEND', 'Silo1', [given('level', '2')], { time: at(5001) })), [
    { area: 'notify.throttle', facts: { ...facts, throttling_ms: 1000 } },
  ])
})

test('traces say what counted as a change', async (t) => {
  const { matcher, update } = traced('subscription.change')
  matcher.put(nth(1))
  const whats = (next: UpdateCommand) =>
    update(next).map(({ facts }) => `${facts?.['attribute']}${facts?.['instance']} ${facts?.['what']}`)
  const level = given('level', '1')
  t.same(whats(command('APPEND', 'Silo1', [level, given('door', 'shut')])), ['door created', 'level created'])
  t.same(whats(command('APPEND', 'Silo1', [given('level', '2', { type: 'cm' }), given('door', 'shut')])), [
    'level value,type',
  ])
  t.same(whats(command('APPEND', 'Silo1', [given('level', '2', { metadata: [metadata('unit', 'm')] })])), [
    'level metadata',
  ])
  t.same(whats(command('APPEND', 'Silo1', [given('level', '1, 2', { location: 'WGS84' })])), ['level value,location'])
  t.same(whats(command('DELETE', 'Silo1', [level])), ['level removed'])
  t.same(whats(command('REPLACE', 'Silo1', [given('door', 'shut')])), ['door replaced'])
})

test('nothing is traced while the levels are off', async (t) => {
  const { matcher, update } = traced()
  matcher.put(nth(1))
  t.same(update(command('APPEND', 'Silo1', [given('level', '1')])), [])
})
