import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { test } from 'tap'
import type { CommandOutcome } from '../../src/cluster/link/batch-route.js'
import { frameOf, parseFrame } from '../../src/cluster/link/byte-frame.js'
import {
  commandsBody,
  laterOutcomesBody,
  outcomesBody,
  type PlacedOutcome,
  parseCommandsBody,
  parseLaterOutcomesBody,
  parseOutcomesBody,
} from '../../src/cluster/link/command-batch.js'
import { linkFormat } from '../../src/cluster/link/link-protocol.js'
import type { Command, Reply } from '../../src/partition/turn/commands.js'
import type { Sequence } from '../../src/threads/shared-memory/sequences.js'
import { at, command, given, id, origin, root, tenant, type } from '../given.js'
import { runs } from '../runs.js'
import { unicodeText } from '../unicode-text.js'

/** Every kind, and every form that the members of each have. */
const commands: readonly Command[] = [
  { kind: 'ping' },
  { kind: 'sweep', time: at(5) },
  { kind: 'ack', acks: [{ subscription: 'abc' as never, gone: [1, 2], stats: undefined }] },
  {
    ...command('APPEND', 'Silo 1', [given('level', '3', { type: 'Number', ID: 'low' }), given('colour', null)]),
    sequence: 1 as Sequence,
    time: at(1_700_000_000_001),
  },
  {
    ...command('APPEND', 'Silo 2', [given('level', { $pullAll: Array.from({ length: 1000 }, () => 1) })]),
    sequence: 2 as Sequence,
    time: at(1_700_000_000_001),
  },
  raw('{"id":"ä"}', { origin: { ...origin, via: 'x', isCustom: true } }),
  raw('{"id":"b"}', { origin: { ...origin, ends: true } }),
  raw('', { target: { id: id('c'), type: type('T'), name: 'level' } }),
  raw('{"id":"d"}', { target: 'element' }),
]

function raw(body: string, more: Partial<Extract<Command, { kind: 'rawUpdate' }>>): Command {
  return {
    kind: 'rawUpdate',
    sequence: 7 as Sequence,
    time: at(9),
    tenant,
    path: root,
    body,
    flags: 3,
    origin,
    ...more,
  }
}

function replied(reply: Reply, decided_ns = 1, committed_ns = 2): CommandOutcome {
  return { ok: true, value: { reply, turn: { decided_ns, committed_ns }, entered: 0n } }
}

/** Without members that have no value. */
function plain(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (_, member: unknown) => (typeof member === 'bigint' ? String(member) : member)),
  )
}

const replies: readonly Reply[] = [
  { kind: 'pong' },
  { kind: 'acked' },
  { kind: 'swept', removed: 3, more: true },
  { kind: 'failed', why: 'storageFull' },
  { kind: 'updated', items: [], missing: [id('x')] } as never,
  {
    kind: 'rawUpdate',
    accepted: true,
    text: 'ö',
    status: 204,
    headers: { Location: '/x' },
    missing: 'm',
    errors: ['404'],
  },
]

test('commands come out of their body as they were put in', async (t) => {
  const parsed = parseCommandsBody(commandsBody(commands))
  t.same(plain(parsed), plain({ ok: true, value: commands }))
})

const anyOutcome = fc.oneof(
  fc.constantFrom(...replies).chain((reply) => fc.nat(2).map((turn) => replied(reply, turn, 2 * turn))),
  fc.constantFrom<CommandOutcome>(
    { ok: false, error: { kind: 'outcomeUnknown' } },
    { ok: false, error: { kind: 'mailboxFull' } },
    { ok: false, error: { kind: 'notOwner', owner: undefined } },
    { ok: false, error: { kind: 'notOwner', owner: 'c' } },
  ),
)

test('outcomes come out of their body as they were put in, whatever follows what', async (t) => {
  const first = fc.oneof(anyOutcome, fc.constant(undefined))
  fc.assert(
    fc.property(fc.array(first, { maxLength: 40 }), (outcomes) => {
      const batch = outcomes.includes(undefined) ? 7 : undefined
      const body = outcomesBody(outcomes, batch)
      const value = { outcomes, batch }
      assert.deepEqual(plain(parseOutcomesBody(body, outcomes.length)), plain({ ok: true, value }))
      assert.equal(parseOutcomesBody(body, outcomes.length + 1).ok, false, 'of as many as were sent')
    }),
    { numRuns: runs(200) },
  )
  t.pass()
})

test('later outcomes come out of their body as they were put in, with the commands that they are of', async (t) => {
  const placed = fc.record<PlacedOutcome>({ batch: fc.nat(3), at: fc.nat(511), outcome: anyOutcome })
  const runOfOne = fc
    .tuple(placed, fc.integer({ min: 1, max: 5 }))
    .map(([first, count]) => Array.from({ length: count }, (_, more) => ({ ...first, at: first.at + more })))
  fc.assert(
    fc.property(fc.array(runOfOne, { maxLength: 8 }), (all) => {
      const value = all.flat()
      assert.deepEqual(plain(parseLaterOutcomesBody(laterOutcomesBody(value))), plain({ ok: true, value }))
    }),
    { numRuns: runs(100) },
  )
  t.pass()
})

test('texts of any characters come out of a frame as they were put in', async (t) => {
  const text = unicodeText({ maxLength: 20 })
  fc.assert(
    fc.property(text, fc.array(text, { maxLength: 8 }), (whole, bodies) => {
      assert.deepEqual(parseFrame(frameOf({ text: whole, bodies })), { ok: true, value: { text: whole, bodies } })
    }),
    { numRuns: runs(100) },
  )
  t.pass()
})

test('a body that is cut anywhere, or has bytes behind it, is refused', async (t) => {
  for (const [body, parse] of [
    [commandsBody(commands), parseCommandsBody],
    [outcomesBody(replies.map((reply) => replied(reply))), (bytes: Buffer) => parseOutcomesBody(bytes, replies.length)],
  ] as const) {
    for (let length = 0; length < body.length; length += 1) {
      const parsed = parse(body.subarray(0, length))
      assert.ok(!parsed.ok && parsed.error.kind === 'malformed', `${length} bytes`)
    }
    t.match(parse(Buffer.concat([body, Buffer.from([0])])), { ok: false, error: { what: /bytes behind/ } })
  }
})

test('whatever the bytes are, they are a batch or refused, and no length makes them allocate', async (t) => {
  const body = commandsBody(commands)
  const outcomes = outcomesBody(replies.map((reply) => replied(reply)))
  const changed = (bytes: Buffer) =>
    fc.array(fc.tuple(fc.nat(bytes.length - 1), fc.nat(255)), { maxLength: 6 }).map((places) => {
      const copy = Buffer.from(bytes)
      for (const [place, byte] of places) copy[place] = byte
      return copy
    })
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 200 }).map((array) => Buffer.from(array)),
    changed(body),
    changed(outcomes),
  )
  fc.assert(
    fc.property(bytes, (any) => {
      assert.equal(typeof parseCommandsBody(any).ok, 'boolean')
      assert.equal(typeof parseOutcomesBody(any, replies.length).ok, 'boolean')
      assert.equal(typeof parseLaterOutcomesBody(any).ok, 'boolean')
    }),
    { numRuns: runs(1000) },
  )
  const huge = Buffer.alloc(8, 0xff)
  t.match(parseFrame(huge), { ok: false, error: { what: 'it is too short for 4294967295 bodies' } })
})

test('what is JSON and no batch is refused, with the reason', async (t) => {
  const parsed = (text: string, ...bodies: readonly string[]) => parseCommandsBody(frameOf({ text, bodies }))
  t.match(parsed('{}'), { error: { what: 'its text is no list of commands' } })
  t.match(parsed('[null]'), { error: { what: 'its text is no list of commands' } })
  t.match(parsed('[]'), { error: { what: 'it has 0 commands' } })
  t.match(parsed(JSON.stringify(Array.from({ length: 513 }, () => 0))), { error: { what: 'it has 513 commands' } })
  t.match(parsed('[{"kind":"drop"}]'), { error: { what: 'it has a command of unknown kind' } })
  t.match(parsed('[{"kind":"constructor"}]'), { error: { what: 'it has a command of unknown kind' } })
  t.match(
    parsed('[[[1],2,"","/",0,"","",""]]'),
    { error: { what: 'its text is no list of commands' } },
    'its body is missing',
  )
  const parsedOutcomes = (runs: unknown, text = '[]') =>
    parseOutcomesBody(frameOf({ text: JSON.stringify(runs), bodies: [text] }), 2)
  t.match(parsedOutcomes([{ commands: 2, refusal: 'mailboxFull' }]), { ok: true })
  t.match(parsedOutcomes([{ commands: 2, refusal: 'mailboxFull' }], '[{"kind":"pong"}]'), {
    error: { what: /has 1 replies/ },
  })
  t.match(parsedOutcomes([{ commands: 2, turn: [1, 2] }], '[{"kind":"pong"}]'), {
    error: { what: /says that there are 2/ },
  })
  t.match(parsedOutcomes([{ commands: 2, deferred: true, batch: 1 }]), { ok: true, value: { batch: 1 } })
  const later = (runs: unknown) => parseLaterOutcomesBody(frameOf({ text: JSON.stringify(runs), bodies: ['[]'] }))
  t.match(later([{ commands: 2, refusal: 'mailboxFull', batch: 1, at: 3 }]), { ok: true })
  t.match(later([{ commands: 2, refusal: 'mailboxFull', batch: 1 }]), { error: { what: /what its outcomes are of/ } })
  t.match(later([{ commands: 2, deferred: true, batch: 1, at: 1 }]), { error: { what: /what its outcomes are of/ } })
  for (const wrong of [
    [{ commands: 2, deferred: true }],
    [
      { commands: 1, deferred: true, batch: 1 },
      { commands: 1, deferred: true, batch: 2 },
    ],
    [{ commands: 1e9, turn: [1, 2] }],
    [{ commands: 0.5 }],
    [{ commands: 2, refusal: 'x' }],
    3,
    [[]],
  ]) {
    t.match(parsedOutcomes(wrong), { ok: false }, JSON.stringify(wrong))
  }
})

test('the format of the link is that of its number', async (t) => {
  const hash = createHash('sha256')
  hash.update(commandsBody(commands)).update(outcomesBody([...replies.map((reply) => replied(reply)), unowned]))
  hash.update(outcomesBody([unowned, undefined], 3)).update(laterOutcomesBody([{ batch: 3, at: 1, outcome: unowned }]))
  t.same(
    [linkFormat, hash.digest('hex').slice(0, 16)],
    [9, 'ea6fb090f85f275d'],
    'another form of a batch needs another number',
  )
})

const unowned: CommandOutcome = { ok: false, error: { kind: 'notOwner', owner: 'c' } }
