import { MessageChannel } from 'node:worker_threads'
import { type Test, test } from 'tap'
import { askAll } from '../../src/partition/mailbox/ask-all.js'
import { Inbox } from '../../src/partition/mailbox/inbox.js'
import { Mailbox } from '../../src/partition/mailbox/mailbox.js'
import { PartitionStore } from '../../src/storage/store/partition-store.js'
import { MailboxCapacity } from '../../src/threads/shared-memory/limits.js'
import { command, given, storeSettings } from '../given.js'
import { inboxParts } from './given.js'

interface Partition {
  readonly store: PartitionStore
  readonly mailbox: Mailbox
  readonly room: MailboxCapacity
  /** The commands of each turn. */
  readonly turns: number[]
  /** The thread is gone. */
  lose(): void
}

/** `committed` is called when a turn is on disk and not answered yet, with the commands of the turns before it. */
function partition(
  t: Test,
  folder: string,
  room = new MailboxCapacity(100_000),
  committed: (before: number) => void = () => {},
): Partition {
  const store = new PartitionStore(folder, storeSettings)
  const turns: number[] = []
  const parts = inboxParts(store)
  const inbox = new Inbox({
    ...parts,
    storage: {
      ...parts.storage,
      committed: (commands) => {
        committed(turns.reduce((sum, each) => sum + each, 0))
        turns.push(commands)
      },
    },
  })
  const { port1, port2 } = new MessageChannel()
  const mailbox = new Mailbox({ room, measured: () => false, depth: () => {} })
  mailbox.connect(port1)
  inbox.connect(port2)
  t.teardown(async () => {
    mailbox.close()
    await store.close()
  })
  return { store, mailbox, room, turns, lose: () => port2.close() }
}

function appends(mailbox: Mailbox, names: readonly string[]) {
  return names.map((name) => ({ mailbox, command: command('APPEND', name, [given('level', '1')]) }))
}

function names(prefix: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, n) => `${prefix}${n}`)
}

test('a request of which not everything has room applies nothing, in no partition', async (t) => {
  const folders = t.testdir({ one: {}, two: {} })
  const one = partition(t, `${folders}/one`)
  const two = partition(t, `${folders}/two`, new MailboxCapacity(10))
  t.ok(two.mailbox.reserve(5) === undefined)
  const outcome = await askAll([...appends(one.mailbox, names('A', 20)), ...appends(two.mailbox, names('B', 6))])
  t.match(outcome, { ok: false, error: { kind: 'mailboxFull' } })
  await Promise.all([one.mailbox.ask({ kind: 'ping' }), two.mailbox.ask({ kind: 'ping' })])
  t.same([one.store.entityCount, two.store.entityCount], [0, 0])
  t.same([one.room.taken, two.room.taken], [0, 5])
  two.mailbox.release(5)
  t.ok((await askAll([...appends(one.mailbox, names('A', 20)), ...appends(two.mailbox, names('B', 6))])).ok)
  t.same([one.store.entityCount, two.store.entityCount], [20, 6])
  t.same([one.room.taken, two.room.taken], [0, 0])
})

test('a request to a partition that is not there applies nothing in the others', async (t) => {
  const one = partition(t, t.testdir())
  const gone = new Mailbox({ room: new MailboxCapacity(10), measured: () => false, depth: () => {} })
  const outcome = await askAll([...appends(one.mailbox, ['A']), ...appends(gone, ['B'])])
  t.match(outcome, { ok: false, error: { kind: 'partitionLost' } })
  await one.mailbox.ask({ kind: 'ping' })
  t.equal(one.store.entityCount, 0)
  t.equal(one.room.taken, 0)
})

test('what is larger than the mailbox is taken when nothing else waits, and only then', async (t) => {
  const { mailbox, room, store } = partition(t, t.testdir(), new MailboxCapacity(100))
  const many = names('A', 1000)
  t.ok(room.take(1))
  t.match(await askAll(appends(mailbox, many)), { ok: false, error: { kind: 'mailboxFull' } })
  t.equal(store.entityCount, 0)
  room.release(1)
  const outcome = await askAll(appends(mailbox, many))
  if (!outcome.ok) throw new Error('it was refused')
  t.same(
    outcome.value.map((one) => one.ok && one.value.reply.kind === 'updated' && one.value.reply.items[0]?.id),
    many,
  )
  t.equal(room.taken, 0)
})

test('the commands of other requests come in between those of a large one', async (t) => {
  const { mailbox, turns } = partition(t, t.testdir())
  let over = false
  const request = askAll(appends(mailbox, names('A', 5000))).then(() => {
    over = true
  })
  await new Promise((resolve) => setImmediate(resolve))
  t.ok((await askAll(appends(mailbox, ['B', 'C']))).ok)
  t.notOk(over, 'the large one is not done')
  await request
  t.ok(turns.every((commands) => commands <= 600))
})

test('what was not sent when the partition is lost is not sent any more, and its room is given back', async (t) => {
  // A slow first turn ends within the first batch, of which nothing is answered then.
  const { mailbox, room, lose } = partition(t, t.testdir(), undefined, (before) => {
    if (before >= 16) lose()
  })
  const outcome = await askAll(appends(mailbox, names('A', 5000)))
  if (!outcome.ok) throw new Error('it was refused as a whole')
  t.ok(outcome.value[0]?.ok)
  t.ok(
    outcome.value.some((one) => !one.ok && one.error.kind === 'outcomeUnknown'),
    'what was under way',
  )
  t.match(outcome.value.at(-1), { error: { kind: 'partitionLost' } })
  t.equal(outcome.value.length, 5000)
  t.equal(room.taken, 0)
  await mailbox.empty()
})

test('a request of which a command cannot be written fails and gives its room back', async (t) => {
  const { mailbox, room } = partition(t, t.testdir())
  const addressed = appends(mailbox, names('A', 1000))
  const last = addressed.at(-1)
  if (!last) throw new Error('nothing to send')
  const broken = { mailbox, command: { ...last.command, tenant: 1n as never } }
  await t.rejects(askAll([...addressed.slice(0, 300), broken, ...addressed.slice(300)]), /BigInt/)
  await mailbox.empty()
  t.equal(room.taken, 0)
})
