import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'tap'
import { rawUpdateInterpreter } from '../../src/api/ngsi1/raw-update.js'
import type { Broker } from '../../src/broker/front-end/broker.js'
import { applyUpdate } from '../../src/model/context/apply.js'
import type { Entity, EntityId, EntityType, ServicePath, Tenant } from '../../src/model/context/entity.js'
import type { UpdateElement, UpdateReply } from '../../src/model/context/update.js'
import { type Line, LineLog } from '../../src/observe/log/log.js'
import { traceArea } from '../../src/observe/log/trace.js'
import { ok } from '../../src/result.js'
import type { Sequence } from '../../src/threads/shared-memory/sequences.js'
import { logLevels, Switches } from '../../src/threads/shared-memory/switches.js'
import type { Milliseconds } from '../../src/time.js'
import { meetings, runs } from '../runs.js'
import { scripted, sendText } from './given.js'
import { anyBody } from './given-payloads.js'

/** A broker on a list in memory. */
function broker(): {
  readonly broker: Broker
  readonly held: () => readonly Entity[]
  readonly rawElements: () => number
} {
  let held: readonly Entity[] = []
  let sequence = 0
  let rawElements = 0
  const apply = (element: UpdateElement): UpdateReply => {
    sequence += 1
    const { id, path } = element
    const time = sequence as Milliseconds
    const own = held.filter((entity) => entity.id === id && entity.path === path)
    const decision = applyUpdate(own, { ...element, kind: 'update', sequence: sequence as Sequence, time })
    for (const effect of decision.effects) {
      const rest = held.filter((entity) => entity.sequence !== effect.entity.sequence)
      held = effect.kind === 'put' ? [...rest, effect.entity] : rest
    }
    return decision.reply
  }
  const simple = scripted({ update: async (elements) => ok(elements.map(apply)) })
  const counting: Broker = {
    ...simple,
    rawElements: (update) => {
      rawElements += 1
      return simple.rawElements(update)
    },
  }
  return { broker: counting, held: () => held, rawElements: () => rawElements }
}

/** The same payload, which the front end reads: it is long, and has an escape, so that its elements are not scanned. */
function readHere(body: string): string {
  return body.replace('"contextElements"', '"contextElement\\u0073"') + ' '.repeat(64 * 1024)
}

const target = fc.constantFrom(
  'updateContext',
  'updateContext?!exist=entity::type',
  'updateContext?attributesFormat=object',
)

test('a raw update does and answers what the same body does that the front end reads', async () => {
  const sent = fc.array(fc.tuple(target, anyBody), { minLength: 1, maxLength: 6 })
  let rawElements = 0
  await fc.assert(
    fc.asyncProperty(sent, fc.boolean(), fc.boolean(), async (requests, strictNgsiv1Ids, ngsiv1Autocast) => {
      const [raw, read] = [broker(), broker()]
      const options = { strictNgsiv1Ids, ngsiv1Autocast }
      for (const [where, text] of requests) {
        assert.deepEqual(
          await sendText(raw.broker, 'POST', where, { body: text, options }),
          await sendText(read.broker, 'POST', where, { body: readHere(text), options }),
        )
      }
      assert.deepEqual(raw.held(), read.held())
      assert.equal(read.rawElements(), 0)
      rawElements += raw.rawElements()
    }),
    { numRuns: runs(500) },
  )
  assert(rawElements > meetings(100), `${rawElements} of them went to their partitions by elements`)
})

const command = {
  kind: 'rawUpdate',
  sequence: 1 as Sequence,
  time: 1 as Milliseconds,
  tenant: '' as Tenant,
  path: '/' as ServicePath,
  flags: 0,
  origin: { correlator: 'corr-1', token: '' },
} as const
const malformed = '{"contextElements":[{"id":"A"}]'
const plain = '{"contextElements":[{"id":"A","attributes":[{"name":"a","value":"1"}]}],"updateAction":"APPEND"}'

test('what is wrong with the payload of a raw update is not accepted, what is wrong with its element is', async (t) => {
  const interpret = rawUpdateInterpreter(undefined, () => false)
  t.match(interpret({ ...command, body: malformed }), { kind: 'reply', reply: { accepted: false } })
  const pattern = '{"contextElements":[{"id":"A","isPattern":"true"}],"updateAction":"UPDATE"}'
  t.match(interpret({ ...command, body: pattern }), { kind: 'reply', reply: { accepted: true, text: /501/ } })
})

test('a raw update is parsed and rendered on the clock only while stages are timed', async (t) => {
  let timed = false
  const interpret = rawUpdateInterpreter(undefined, () => timed)
  const spent = (body: string) => {
    const interpretation = interpret({ ...command, body })
    if (interpretation.kind === 'reply') return interpretation.reply.spent
    return interpretation.render({ items: [{ id: 'A' as EntityId, type: '' as EntityType }], missing: [] }).spent
  }
  t.equal(spent(plain), undefined)
  timed = true
  for (const body of [plain, malformed]) {
    const { parse_ns = 0, render_ns = 0 } = spent(body) ?? {}
    t.ok(parse_ns > 0 && render_ns > 0)
  }
})

test('a raw update is traced where it is parsed', async (t) => {
  const switches = new Switches()
  switches.set('logLevel', logLevels.indexOf('ERROR'))
  for (const area of ['parse', 'parse.check'] as const) switches.traces[traceArea[area]] = 1
  const lines: Line[] = []
  const interpret = rawUpdateInterpreter(new LineLog(switches, (line) => lines.push(line)), () => false)
  interpret({ ...command, body: plain })
  interpret({ ...command, body: malformed })
  t.match(lines, [{ area: 'parse' }, { area: 'parse' }, { area: 'parse.check', message: 'JSON Parse Error' }])
})
