import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'tap'
import { encodeFlags, rawUpdateInterpreter } from '../../src/api/ngsi1/raw-update.js'
import type { Broker } from '../../src/broker/front-end/broker.js'
import { type Replied, rawReplyOrFailure, repliesOf } from '../../src/broker/front-end/updates.js'
import type { EntityId, EntityType, ServicePath, Tenant } from '../../src/model/context/entity.js'
import type { ElementFailure } from '../../src/model/context/update.js'
import type { Reply } from '../../src/partition/turn/commands.js'
import { err, ok } from '../../src/result.js'
import { atOnce } from '../../src/slices.js'
import type { Sequence } from '../../src/threads/shared-memory/sequences.js'
import type { Milliseconds } from '../../src/time.js'
import { runs } from '../runs.js'
import { done, scripted, sendText } from './given.js'

const spaces = ' '.repeat(64 * 1024)

/** The same payload with an escape, which only the parser reads. */
function escaped(text: string): string {
  return text.replace('"updateAction"', '"updateActio\\u006e"')
}

type ElementOutcome = 'done' | ElementFailure

const elementOutcomes: readonly ElementOutcome[] = ['done', 'storageFull', 'partitionLost', 'outcomeUnknown', 'fault']

/** What a mailbox says of an element whose id is what becomes of it; `reply` is that of its partition. */
function outcomeOf(id: string, reply: Reply): Replied[number] {
  const cost = { turn: { decided_ns: 1, committed_ns: 1 }, entered: 0n }
  if (id.startsWith('partitionLost')) return err({ kind: 'partitionLost' } as const)
  if (id.startsWith('outcomeUnknown')) return err({ kind: 'outcomeUnknown' } as const)
  if (id.startsWith('storageFull')) return ok({ reply: { kind: 'failed', why: 'storageFull' } as const, ...cost })
  if (id.startsWith('fault')) return ok({ reply: { kind: 'failed', why: 'fault' } as const, ...cost })
  return ok({ reply, ...cost })
}

const interpret = rawUpdateInterpreter(undefined, () => false)

/** A broker in which elements fail by their ids. */
function failing(): Broker {
  return scripted({
    update: async (elements) => {
      const replied: Replied = elements.map((element) => outcomeOf(element.id, { kind: 'updated', ...done(element) }))
      return atOnce(repliesOf(elements, replied))
    },
    rawElements: async ({ elements, ...raw }) =>
      ok(
        elements.map(({ id, text }) => {
          const time = 1 as Milliseconds
          const read = interpret({ kind: 'rawUpdate', sequence: 1 as Sequence, time, ...raw, body: text })
          const reply = read.kind === 'reply' ? read.reply : read.render(done(read.element))
          return rawReplyOrFailure(outcomeOf(id, reply))
        }),
      ),
  })
}

/** An attribute that is there twice is refused whatever is stored, so the element is not sent where it is read first. */
const twice = [
  { name: 'a', value: '1' },
  { name: 'a', value: '2' },
]

test('elements that fail are answered as in an update that the front end reads', async () => {
  const element = fc
    .tuple(fc.constantFrom(...elementOutcomes), fc.boolean(), fc.nat(3))
    .map(([outcome, isMalformed, n]) => ({ id: `${outcome}${n}`, type: 'T', attributes: isMalformed ? twice : [] }))
  const body = fc
    .array(element, { minLength: 2, maxLength: 5 })
    .map((contextElements) => JSON.stringify({ contextElements, updateAction: 'APPEND' }))
  await fc.assert(
    fc.asyncProperty(body, async (text) => {
      const raw = await sendText(failing(), 'POST', 'updateContext', { body: text }).catch(String)
      const long = await sendText(failing(), 'POST', 'updateContext', { body: text + spaces }).catch(String)
      const read = await sendText(failing(), 'POST', 'updateContext', { body: escaped(text) }).catch(String)
      assert.deepEqual(raw, read)
      assert.deepEqual(long, read)
    }),
    { numRuns: runs(500) },
  )
})

const two = { contextElements: [{ id: 'A' }, { id: 'B', attributes: twice }], updateAction: 'APPEND' }

test('where not all elements have room, those that have to be sent may have it', async (t) => {
  const broker = scripted({ rawElements: async () => err({ kind: 'mailboxFull' }) })
  const { text } = await sendText(broker, 'POST', 'updateContext', { body: JSON.stringify(two) })
  t.match(text, /"id":"A".*"code":"200".*"id":"B".*"code":"422"/)
})

test('a long payload is sent as it came, unless one of its elements is long', async (t) => {
  const sent: number[] = []
  const broker = scripted({
    rawElements: async ({ elements }) => {
      sent.push(elements.length)
      return ok(elements.map(({ id }) => ({ kind: 'rawUpdate', accepted: true, text: `"${id}"` })))
    },
    update: async (elements) => ok(elements.map(done)),
  })
  const ids = Array.from({ length: 3000 }, (_, at) => `Element${at}`)
  const post = (elements: readonly object[]) =>
    sendText(broker, 'POST', 'updateContext', {
      body: JSON.stringify({ contextElements: elements, updateAction: 'APPEND' }),
    })
  const { text } = await post(ids.map((id) => ({ id, attributes: [{ name: 'a', value: '1' }] })))
  t.same(JSON.parse(text), { contextResponses: ids })
  await post([{ id: 'A' }, { id: 'B', attributes: [{ name: 'a', value: 'x'.repeat(70_000) }] }])
  t.same(sent, [3000])
})

test('with strict ids elements are read by the front end', async (t) => {
  const broker = scripted({ rawElements: () => Promise.reject(new Error('elements were sent as they came')) })
  const options = { strictNgsiv1Ids: true }
  const { status } = await sendText(broker, 'POST', 'updateContext', { body: JSON.stringify(two), options })
  t.equal(status, 200)
})

test('what is missing of an element is told apart from what stands in its place', async (t) => {
  const flags = encodeFlags({ untyped: false, autocast: false, asObject: false, strictIds: false, action: 'UPDATE' })
  const body = '{"id":"E","attributes":[{"name":"a","value":"1"},{"name":"b","value":"2"}]}'
  const raw = { kind: 'rawUpdate', sequence: 1 as Sequence, time: 1 as Milliseconds, flags, body } as const
  const read = interpret({
    ...raw,
    tenant: '' as Tenant,
    path: '/' as ServicePath,
    origin: { correlator: 'c', token: '' },
  })
  if (read.kind === 'reply') throw new Error('the element is refused')
  const item = { id: 'E' as EntityId, type: '' as EntityType }
  const missing = [{ ...item, shown: [1], refusal: { kind: 'attributesMissing' } as const }]
  const { text, missing: later } = read.render({ items: [{ ...item, shown: [0] }], missing })
  t.match(text, /^\{"contextElement":.*"name":"a".*"code":"200"[^[]*\}$/)
  t.match(later, /^\{"contextElement":.*"name":"b".*"code":"404"[^[]*\}$/)
})
