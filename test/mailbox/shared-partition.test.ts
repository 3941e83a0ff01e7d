import { MessageChannel, type MessagePort, receiveMessageOnPort } from 'node:worker_threads'
import { type Test, test } from 'tap'
import { askAll } from '../../src/partition/mailbox/ask-all.js'
import type { Batch } from '../../src/partition/mailbox/batch.js'
import { Inbox } from '../../src/partition/mailbox/inbox.js'
import { Mailbox } from '../../src/partition/mailbox/mailbox.js'
import type { Command } from '../../src/partition/turn/commands.js'
import { encodeReplies } from '../../src/partition/turn/encoding.js'
import { PartitionStore } from '../../src/storage/store/partition-store.js'
import { MailboxCapacity } from '../../src/threads/shared-memory/limits.js'
import { command, given, id, root, storeSettings } from '../given.js'
import { inboxParts, slow_ms, slowElements, slowWords } from './given.js'

interface Partition {
  readonly store: PartitionStore
  readonly inbox: Inbox
  mailbox(room?: MailboxCapacity, patience_ms?: number): Mailbox
}

/** A partition whose raw updates are names of entities; it takes long to parse one that begins with `Slow`. */
function partition(t: Test): Partition {
  const store = new PartitionStore(t.testdir(), storeSettings)
  const inbox = new Inbox({
    ...inboxParts(store),
    interpret: slowWords,
  })
  const mailboxes: Mailbox[] = []
  t.teardown(async () => {
    for (const mailbox of mailboxes) mailbox.close()
    await store.close()
  })
  return {
    store,
    inbox,
    mailbox: (room = new MailboxCapacity(1000), patience_ms = undefined) => {
      const { port1, port2 } = new MessageChannel()
      const mailbox = new Mailbox({ room, measured: () => false, patience_ms, depth: () => {} })
      mailbox.connect(port1)
      inbox.connect(port2)
      mailboxes.push(mailbox)
      return mailbox
    },
  }
}

function append(name: string): Command {
  return command('APPEND', name, [given('level', '2')])
}

/** The event loop comes round, so that what has gathered is sent. */
function cameRound(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

for (const own of [true, false]) {
  const where = own ? 'the same front end' : 'another front end'
  test(`an update that ${where} sends behind a request of many slow elements is answered before that is done`, async (t) => {
    const { mailbox } = partition(t)
    const box = mailbox()
    const other = own ? box : mailbox()
    const replied: string[] = []
    const requests = slowElements(20).map((each, n) => box.ask(each).then(() => replied.push(String(n))))
    await cameRound()
    await other.ask(append('Other')).then(() => replied.push('other'))
    const behind = replied.length
    await Promise.all(requests)
    t.ok(behind < 20, `${behind} replies before it`)
    t.same(
      replied.filter((name) => name !== 'other'),
      Array.from({ length: 20 }, (_, n) => String(n)),
      'elements of one request in their order',
    )
  })
}

test('an update in the middle of a batch of slow ones is answered before the others of its batch', async (t) => {
  const { mailbox } = partition(t)
  const box = mailbox()
  const replied: string[] = []
  const slow = slowElements(10)
  const batch = [...slow.slice(0, 9), append('Other'), ...slow.slice(9)]
  await Promise.all(
    batch.map((each) => box.ask(each).then(() => replied.push(each.kind === 'update' ? 'other' : 'slow'))),
  )
  t.ok(replied.indexOf('other') < 9, `${replied}`)
})

test('an update of an entity that a slow request changes stays behind it', async (t) => {
  const { mailbox, store } = partition(t)
  const box = mailbox()
  const replied: string[] = []
  const requests = slowElements(8).map((each, n) => box.ask(each).then(() => replied.push(`Slow${n}`)))
  const other = mailbox()
  await cameRound()
  await other.ask(append('Slow7')).then(() => replied.push('other'))
  await Promise.all(requests)
  t.ok(replied.indexOf('Slow7') < replied.indexOf('other'))
  const [entity] = store.entities(command('APPEND', 'Slow7', []).tenant, root, id('Slow7'))
  t.equal(entity?.attributes[0]?.value, '2')
})

test('many slow elements of a request keep no other command of their front end from being sent', async (t) => {
  const { mailbox } = partition(t)
  const box = mailbox()
  let isOver = false
  const elements = slowElements(160, (n) => (n % 8 === 0 ? `Slow${n}` : `Quick${n}`))
  const requests = askAll(elements.map((each) => ({ mailbox: box, command: each }))).then((outcome) => {
    isOver = true
    return outcome
  })
  await cameRound()
  t.ok((await box.ask(append('Other'))).ok)
  t.notOk(isOver)
  const outcome = await requests
  t.ok(outcome.ok && outcome.value.every((each) => each.ok))
})

test('a drain carries out what is deferred', async (t) => {
  const { mailbox, inbox, store } = partition(t)
  const room = new MailboxCapacity(100)
  const box = mailbox(room)
  const requests = Promise.all(slowElements(10).map((each) => box.ask(each)))
  await cameRound()
  const other = box.ask(append('Other'))
  await other
  inbox.close()
  t.ok((await requests).every(({ ok }) => ok))
  t.equal(store.entityCount, 11)
  t.equal(room.taken, 0)
})

test('what is deferred is refused when its sender waits no more', async (t) => {
  const { mailbox, store } = partition(t)
  const box = mailbox(new MailboxCapacity(100), 600_000)
  t.equal(box.reserve(10), undefined)
  const until_ms = performance.now() + 3 * slow_ms
  const outcomes = await Promise.all(slowElements(10).map((each) => box.put(each, until_ms)))
  const kinds = outcomes.map((outcome) => outcome.ok && outcome.value.reply.kind)
  const late = kinds.indexOf('failed')
  t.ok(late !== -1)
  t.same(kinds, [...kinds.slice(0, late), ...Array.from({ length: 10 - late }, () => 'failed')])
  t.equal(store.entityCount, late)
})

/** A mailbox whose far end is played by the test. */
function played(t: Test, patience_ms?: number) {
  const room = new MailboxCapacity(1000)
  const mailbox = new Mailbox({ room, measured: () => false, patience_ms, depth: () => {} })
  const { port1, port2 } = new MessageChannel()
  mailbox.connect(port1)
  t.teardown(() => {
    mailbox.close()
    port2.close()
  })
  const received = (): readonly Batch[] => {
    const batches: Batch[] = []
    for (let next = receiveMessageOnPort(port2); next; next = receiveMessageOnPort(port2)) batches.push(next.message)
    return batches
  }
  return { room, mailbox, port: port2, received }
}

function reply(port: MessagePort, batch: number, at: readonly number[]): void {
  const replies = encodeReplies(at.map(() => ({ kind: 'acked' })))
  port.postMessage({ batch, replies, at, decided_ns: 1, committed_ns: 1 })
}

test('replies to a part of a batch resolve that part, whatever their order, and give its room back', async (t) => {
  const { room, mailbox, port, received } = played(t)
  const resolved: number[] = []
  const requests = [0, 1, 2, 3].map((n) => mailbox.ask(append(`E${n}`)).then(() => resolved.push(n)))
  mailbox.catchUp()
  const [first] = received()
  reply(port, first?.number ?? 0, [3, 1])
  mailbox.catchUp()
  await requests[1]
  t.same(resolved, [3, 1])
  t.equal(room.taken, 2)
  reply(port, first?.number ?? 0, [0, 2])
  mailbox.catchUp()
  await Promise.all(requests)
  t.same(resolved, [3, 1, 0, 2])
  t.equal(room.taken, 0)
  await mailbox.empty()
})

test('a batch whose first reply has come does not count among those under way', async (t) => {
  const { mailbox, port, received } = played(t)
  const request = Array.from({ length: 8 * 16 }, (_, n) => mailbox.ask(append(`E${n}`)))
  const batches = received()
  t.equal(batches.length, 8)
  request.push(mailbox.ask(append('Other')))
  mailbox.catchUp()
  t.same(received(), [])
  reply(port, batches[3]?.number ?? 0, [])
  mailbox.catchUp()
  t.equal(received().length, 1)
  port.close()
  t.match(
    await Promise.all(request),
    Array.from({ length: 129 }, () => ({ error: { kind: 'outcomeUnknown' } })),
  )
})

test('when the thread dies, what of a batch was not answered has no known outcome', async (t) => {
  const { room, mailbox, port, received } = played(t)
  const requests = Promise.all(['A', 'B', 'C'].map((name) => mailbox.ask(append(name))))
  mailbox.catchUp()
  reply(port, received()[0]?.number ?? 0, [1])
  port.close()
  t.match(await requests, [
    { error: { kind: 'outcomeUnknown' } },
    { value: { reply: { kind: 'acked' } } },
    { error: { kind: 'outcomeUnknown' } },
  ])
  t.equal(room.taken, 0)
})

test('what of a batch is waited for no more gives its room back once, and its replies are still awaited', async (t) => {
  const { room, mailbox, port, received } = played(t, 50)
  const requests = Promise.all(['A', 'B'].map((name) => mailbox.ask(append(name))))
  mailbox.catchUp()
  const [batch] = received()
  reply(port, batch?.number ?? 0, [0])
  mailbox.catchUp()
  t.match(await requests, [{ value: { reply: { kind: 'acked' } } }, { error: { kind: 'outcomeUnknown' } }])
  t.equal(room.taken, 0)
  reply(port, batch?.number ?? 0, [1])
  mailbox.catchUp()
  t.equal(room.taken, 0)
  await mailbox.empty()
})
