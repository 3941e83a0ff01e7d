import { MessageChannel, receiveMessageOnPort } from 'node:worker_threads'
import { type Test, test } from 'tap'
import type { UpdateCommand } from '../../src/model/context/update.js'
import type { WaitMeter } from '../../src/observe/measure/waits.js'
import { Inbox } from '../../src/partition/mailbox/inbox.js'
import { Mailbox } from '../../src/partition/mailbox/mailbox.js'
import type { Command } from '../../src/partition/turn/commands.js'
import { encodeReplies } from '../../src/partition/turn/encoding.js'
import { PartitionStore } from '../../src/storage/store/partition-store.js'
import { MailboxCapacity } from '../../src/threads/shared-memory/limits.js'
import { Bell } from '../../src/threads/shared-memory/signals.js'
import type { Versions } from '../../src/threads/shared-memory/versions.js'
import { command, given, id, origin, root, silentLog, storeSettings, tenant, versions } from '../given.js'
import { clock, lastOf, nth, nthId } from '../subscription/given.js'
import { inboxParts, stillClock } from './given.js'

/** Waits as they were reported. */
class Noted implements WaitMeter {
  readonly waits: bigint[] = []
  frees = 0

  readonly on: boolean

  constructor(on: boolean) {
    this.on = on
  }

  free(): void {
    this.frees += 1
  }

  waited(wait: bigint): void {
    this.waits.push(wait)
  }
}

interface Around {
  readonly store: PartitionStore
  readonly inbox: Inbox
  readonly faults: unknown[]
  readonly turns: number[]
  readonly published: Versions
  readonly bell: Bell
  readonly mailboxWait: Noted
  readonly transactionWait: Noted
  mailbox(room?: MailboxCapacity, patience_ms?: number): Mailbox
}

function around(t: Test, measured = false, published = versions()): Around {
  const store = new PartitionStore(t.testdir(), storeSettings)
  const faults: unknown[] = []
  const turns: number[] = []
  const bell = new Bell()
  const mailboxWait = new Noted(measured)
  const transactionWait = new Noted(measured)
  const mailboxes: Mailbox[] = []
  const parts = inboxParts(store)
  const inbox = new Inbox({
    ...parts,
    versions: published,
    bell,
    storage: { ...parts.storage, committed: (commands) => turns.push(commands) },
    mailboxWait,
    transactionWait,
    keepsSlow: () => measured,
    log: { ...silentLog, error: (_op, message) => faults.push(message) },
  })
  t.teardown(async () => {
    for (const mailbox of mailboxes) mailbox.close()
    await store.close()
  })
  return {
    store,
    inbox,
    faults,
    turns,
    published,
    bell,
    mailboxWait,
    transactionWait,
    mailbox: (room = new MailboxCapacity(1000), patience_ms = undefined) => {
      const { port1, port2 } = new MessageChannel()
      const mailbox = new Mailbox({ room, measured: () => measured, patience_ms, depth: () => {} })
      mailbox.connect(port1)
      inbox.connect(port2)
      mailboxes.push(mailbox)
      return mailbox
    },
  }
}

function append(name: string, value: string): UpdateCommand {
  return command('APPEND', name, [given('level', value)])
}

test('what is put in at one time is taken into few turns, answered in order', async (t) => {
  stillClock(t)
  const { mailbox, store, turns, published } = around(t)
  const box = mailbox()
  const names = Array.from({ length: 50 }, (_, n) => `Silo${n}`)
  const outcomes = await Promise.all(names.map((name) => box.ask(append(name, '1'))))
  t.same(
    outcomes.map((outcome) => outcome.ok && outcome.value.reply.kind === 'updated' && outcome.value.reply.items[0]?.id),
    names,
  )
  t.equal(
    turns.reduce((sum, commands) => sum + commands, 0),
    50,
  )
  t.ok(turns.length <= 4)
  t.equal(published.commits, turns.length)
  t.equal(store.entityCount, 50)
})

test('commands that come together after others are taken into one turn', async (t) => {
  stillClock(t)
  const { mailbox, turns } = around(t)
  const box = mailbox()
  const first = box.ask(append('Silo1', '0'))
  await new Promise((resolve) => setImmediate(resolve))
  const rest = Promise.all(Array.from({ length: 20 }, (_, n) => box.ask(append('Silo1', String(n)))))
  await first
  await rest
  t.ok(turns.length <= 3)
})

test('who keeps the event loop from coming round sends and takes in what there is meanwhile', async (t) => {
  const mailbox = new Mailbox({ room: new MailboxCapacity(10), measured: () => false, depth: () => {} })
  const { port1, port2 } = new MessageChannel()
  t.teardown(() => port2.close())
  mailbox.catchUp()
  mailbox.connect(port1)
  let cameRound = false
  setImmediate(() => {
    cameRound = true
  })
  const reply = mailbox.ask({ kind: 'ping' })
  mailbox.catchUp()
  t.ok(receiveMessageOnPort(port2), 'the batch is on its way')
  port2.postMessage({ batch: 1, replies: encodeReplies([{ kind: 'pong' }]), decided_ns: 1, committed_ns: 2 })
  mailbox.catchUp()
  t.match(await reply, { ok: true, value: { reply: { kind: 'pong' } } })
  t.notOk(cameRound)
  mailbox.close()
})

test('a reply that comes while the thread stands still is taken in, however late that is', async (t) => {
  const { port1, port2 } = new MessageChannel()
  const room = new MailboxCapacity(10)
  const mailbox = new Mailbox({ room, measured: () => false, patience_ms: 100, depth: () => {} })
  mailbox.connect(port1)
  const asked = mailbox.ask({ kind: 'ping' })
  mailbox.catchUp()
  // The thread stands still from here on, whatever else the machine does: its patience is over before it looks for the reply.
  t.ok(receiveMessageOnPort(port2), 'the batch is on its way')
  port2.postMessage({ batch: 1, replies: encodeReplies([{ kind: 'pong' }]), decided_ns: 1, committed_ns: 2 })
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300)
  t.match(await asked, { ok: true, value: { reply: { kind: 'pong' } } })
  mailbox.close()
})

test('a full mailbox refuses and takes again when there is room', async (t) => {
  const { mailbox } = around(t)
  const box = mailbox(new MailboxCapacity(2))
  const requests = [append('A', '1'), append('B', '1'), append('C', '1')].map((next) => box.ask(next))
  const outcomes = await Promise.all(requests)
  t.same(
    outcomes.map(({ ok }) => ok),
    [true, true, false],
  )
  t.match(outcomes[2], { error: { kind: 'mailboxFull' } })
  t.ok((await box.ask(append('C', '1'))).ok)
})

test('the room is one for all front ends', async (t) => {
  const { mailbox } = around(t)
  const room = new MailboxCapacity(3)
  const [one, two] = [mailbox(room), mailbox(room)]
  const requests = [one.ask(append('A', '1')), two.ask(append('B', '1')), one.ask(append('C', '1'))]
  t.equal(room.taken, 3)
  t.match(await two.ask(append('D', '1')), { error: { kind: 'mailboxFull' } })
  t.ok((await Promise.all(requests)).every(({ ok }) => ok))
  t.equal(room.taken, 0)
})

test('a sign of life needs no room, and is asked for once however many want it', async (t) => {
  const { mailbox, turns } = around(t)
  const room = new MailboxCapacity(1)
  const box = mailbox(room)
  const request = box.ask(append('A', '1'))
  const signs = await Promise.all([box.ping(), box.ping(), box.ping()])
  t.match(
    signs,
    [1, 2, 3].map(() => ({ value: { reply: { kind: 'pong' } } })),
  )
  t.ok((await request).ok)
  t.equal(
    turns.reduce((sum, commands) => sum + commands, 0),
    2,
  )
  t.equal(room.taken, 0)
})

test('a command that makes its turn fail fails alone', async (t) => {
  const { mailbox, faults, store } = around(t)
  const box = mailbox()
  const { sequence, time } = append('B', '1')
  const broken: Command = { kind: 'rawUpdate', sequence, time, tenant, path: root, body: 'B', flags: 0, origin }
  const batch: readonly Command[] = [append('A', '1'), broken, append('C', '1')]
  const outcomes = await Promise.all(batch.map((next) => box.ask(next)))
  t.same(
    outcomes.map((outcome) => outcome.ok && outcome.value.reply.kind),
    ['updated', 'failed', 'updated'],
  )
  t.equal(faults.length, 1)
  t.same(store.entities(tenant, root, id('B')), [])
  t.equal(store.entities(tenant, root, id('C')).length, 1)
})

test('a subscription is in force from the next turn on, and the bell is rung when there are new notices', async (t) => {
  const { inbox, mailbox, store, bell, faults } = around(t)
  const rung = new Int32Array(bell.memory)
  const box = mailbox()
  await box.ask(append('A', '1'))
  t.equal(inbox.subscribe(nth(1)), 0)
  t.equal(rung[0], 0)
  await box.ask(append('A', '2'))
  await box.ask(append('A', '2'))
  t.same([store.lastNotice, rung[0]], [1, 1])
  await box.ask({ kind: 'ack', acks: [{ subscription: nthId(1), gone: [1], stats: undefined }] })
  t.equal(inbox.unsubscribe(nthId(1)), 1)
  await box.ask(append('A', '3'))
  t.same([store.lastNotice, rung[0], faults], [1, 1, []])
})

test('commands that are taken one by one after a failure make their notices once', async (t) => {
  const { inbox, mailbox, store, bell } = around(t)
  const memory = clock()
  inbox.subscribe(nth(1, { throttling_ms: Number.MAX_SAFE_INTEGER }, memory))
  const { sequence, time } = append('B', '1')
  const broken: Command = { kind: 'rawUpdate', sequence, time, tenant, path: root, body: 'B', flags: 0, origin }
  const first = append('A', '1')
  const box = mailbox()
  await Promise.all([first, broken, append('C', '1')].map((next) => box.ask(next)))
  t.same([store.lastNotice, lastOf(memory), new Int32Array(bell.memory)[0]], [1, first.time, 1])
})

test('a partition that is lost answers what was open, and refuses until it is connected anew', async (t) => {
  const box = new Mailbox({ room: new MailboxCapacity(10), measured: () => false, depth: () => {} })
  t.match(await box.ask(append('A', '1')), { error: { kind: 'partitionLost' } })
  const { port1, port2 } = new MessageChannel()
  box.connect(port1)
  const requests: ReturnType<Mailbox['ask']>[] = []
  for (let sent = 0; sent < 8; sent += 1) {
    requests.push(box.ask(append('A', '1')))
    await new Promise((resolve) => setImmediate(resolve))
  }
  // So many may be under way: this one waits.
  const gathering = box.ask(append('C', '1'))
  port2.close()
  const kinds = [...requests.map(() => 'outcomeUnknown'), 'partitionLost']
  t.match(
    await Promise.all([...requests, gathering]),
    kinds.map((kind) => ({ error: { kind } })),
    'what was sent may have been carried out, the rest was not',
  )
  t.match(await box.ask(append('A', '1')), { error: { kind: 'partitionLost' } })
  await box.empty()
  const { inbox } = around(t)
  const again = new MessageChannel()
  inbox.connect(again.port2)
  box.connect(again.port1)
  t.ok((await box.ask(append('A', '1'))).ok)
  box.close()
})

test('a mailbox whose partition is replaced resolves what was under way before it takes the new port', async (t) => {
  const { inbox } = around(t)
  const room = new MailboxCapacity(10)
  const box = new Mailbox({ room, measured: () => false, depth: () => {} })
  const old = new MessageChannel()
  box.connect(old.port1)
  const first = box.ask(append('A', '1'))
  await new Promise((resolve) => setImmediate(resolve))
  const underWay = box.ask(append('B', '1'))
  await new Promise((resolve) => setImmediate(resolve))
  const gathering = box.ask(append('C', '1'))
  // The old thread has answered the first batch; neither this nor its end was heard of when the new port comes.
  old.port2.postMessage({ batch: 1, replies: encodeReplies([{ kind: 'pong' }]), decided_ns: 1, committed_ns: 1 })
  const again = new MessageChannel()
  inbox.connect(again.port2)
  box.connect(again.port1)
  t.match(await first, { value: { reply: { kind: 'pong' } } })
  t.match(await underWay, { error: { kind: 'outcomeUnknown' } })
  t.match(await gathering, { value: { reply: { kind: 'updated' } } })
  t.match(await box.ask(append('D', '1')), { value: { reply: { kind: 'updated', items: [{ id: 'D' }] } } })
  t.equal(room.taken, 0)
  box.close()
  old.port2.close()
})

test('commands that cannot be written into a batch fail, and take nobody with them', async (t) => {
  const { mailbox } = around(t)
  const room = new MailboxCapacity(10)
  const box = mailbox(room)
  const unwritable = { ...append('A', '1'), tenant: 1n as never }
  await t.rejects(box.ask(unwritable), /BigInt/)
  t.ok((await box.ask(append('A', '1'))).ok)
  t.equal(room.taken, 0)
})

test('a turn that was committed is not taken again because what follows it fails', async (t) => {
  stillClock(t)
  const published = versions()
  let invalidated = 0
  const failing = Object.assign(Object.create(published), {
    begin: () => {},
    end: () => {
      throw new Error('no versions')
    },
    invalidateAll: () => {
      invalidated += 1
    },
  })
  const { inbox, mailbox, store, faults, bell } = around(t, false, failing)
  inbox.subscribe(nth(1))
  const box = mailbox()
  const requests = [append('A', '1'), append('A', '2'), append('B', '1')].map((next) => box.ask(next))
  await new Promise((resolve) => setImmediate(resolve))
  t.throws(() => inbox.close(), { message: 'no versions' }, 'the thread ends of it')
  t.match(
    await Promise.all(requests),
    [1, 2, 3].map(() => ({ value: { reply: { kind: 'updated' } } })),
  )
  t.equal(store.lastNotice, 3, 'each change has made one notice')
  t.equal(faults.length, 1)
  t.equal(invalidated, 1, 'the whole caches of readers are invalidated')
  t.not(new Int32Array(bell.memory)[0], 0, 'the courier is told to look')
})

test('much that has arrived is taken in several turns, answered in order, and others come in between', async (t) => {
  const { mailbox, turns, store } = around(t)
  const [box, other] = [mailbox(new MailboxCapacity(30_000)), mailbox()]
  const names = Array.from({ length: 20_000 }, (_, n) => `Silo${n}`)
  let replies = 0
  const requests = Promise.all(
    names.map(async (name) => {
      const outcome = await box.ask(append(name, '1'))
      replies += 1
      return outcome
    }),
  )
  await new Promise((resolve) => setImmediate(resolve))
  await other.ask(append('Other', '1'))
  t.ok(replies < names.length, `${replies} were answered before`)
  const outcomes = await requests
  t.same(
    outcomes.map((outcome) => outcome.ok && outcome.value.reply.kind === 'updated' && outcome.value.reply.items[0]?.id),
    names,
  )
  t.ok(turns.length > 3)
  t.ok(turns.every((commands) => commands <= 5000))
  t.equal(store.entityCount, 20_001)
})

test('two front ends are served in one turn when both have sent', async (t) => {
  stillClock(t)
  const { mailbox, turns } = around(t)
  const [one, two] = [mailbox(), mailbox()]
  await Promise.all([one.ask(append('A', '1')), two.ask(append('B', '1')), two.ask(append('A', '2'))])
  t.equal(
    turns.reduce((sum, commands) => sum + commands, 0),
    3,
  )
  t.ok(turns.length <= 2)
})

test('what its sender does not wait for any more is refused, and what is waited for longer is carried out', async (t) => {
  const { mailbox, store, turns } = around(t, true)
  const box = mailbox(new MailboxCapacity(100), 60_000)
  t.equal(box.reserve(4), undefined)
  const replies = await Promise.all([
    box.put(append('A', '1')),
    box.put(append('B', '1'), performance.now()),
    box.put(append('C', '1'), performance.now()),
    box.put(append('A', '2')),
  ])
  t.match(replies, [
    { value: { reply: { kind: 'updated' } } },
    { value: { reply: { kind: 'failed', why: 'late' } } },
    { value: { reply: { kind: 'failed', why: 'late' } } },
    { value: { reply: { kind: 'updated' } } },
  ])
  t.equal(store.entityCount, 1)
  t.equal(
    turns.reduce((sum, commands) => sum + commands, 0),
    2,
  )
})

test('every command waits in the mailbox, for the transaction only one that came during another turn', async (t) => {
  const { mailbox, mailboxWait, transactionWait } = around(t, true)
  const box = mailbox()
  await box.ask(append('A', '1'))
  t.equal(mailboxWait.waits.length, 1)
  t.ok((mailboxWait.waits[0] ?? 0n) > 0n)
  t.same([transactionWait.frees, transactionWait.waits.length], [1, 0])
  await box.ask({ kind: 'ping' })
  t.equal(mailboxWait.waits.length, 2)
  t.equal(transactionWait.frees, 1)
})

test('while waits are not measured none is taken', async (t) => {
  const { mailbox, mailboxWait, transactionWait } = around(t)
  await mailbox().ask(append('A', '1'))
  t.same([mailboxWait.waits, transactionWait.waits, transactionWait.frees], [[], [], 0])
})
