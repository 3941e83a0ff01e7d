import assert from 'node:assert/strict'
import fc from 'fast-check'
import { type Test, test } from 'tap'
import type { BatchRoute, OutcomePart, SentOutcome } from '../../src/cluster/link/batch-route.js'
import type { NodeLink } from '../../src/cluster/link/node-link.js'
import { LocalRoute } from '../../src/cluster/link/node-route.js'
import { type NodeRoutes, RemoteMailbox, type RemoteMailboxSettings } from '../../src/cluster/link/remote-mailbox.js'
import type { Command } from '../../src/partition/turn/commands.js'
import { ok } from '../../src/result.js'
import type { PartitionStore } from '../../src/storage/store/partition-store.js'
import { MailboxCapacity } from '../../src/threads/shared-memory/limits.js'
import { Waits } from '../../src/threads/shared-memory/permit-loans.js'
import { id, root, tenant } from '../given.js'
import { slowElements } from '../mailbox/given.js'
import { runs } from '../runs.js'
import { until } from '../until.js'
import { type Cut, CuttingProxy } from './cutting-proxy.js'
import { GivenNode, levelOf, linkTo } from './given.js'

/** A routing table that a test changes. */
class Routes implements NodeRoutes {
  readonly #watchers = new Set<() => void>()
  #owner: string | undefined

  constructor(owner: string | undefined) {
    this.#owner = owner
  }

  ownerOf(): string | undefined {
    return this.#owner
  }

  watch(changed: () => void): () => void {
    this.#watchers.add(changed)
    return () => this.#watchers.delete(changed)
  }

  become(owner: string | undefined): void {
    this.#owner = owner
    for (const changed of this.#watchers) changed()
  }
}

function mailbox(
  t: Test,
  link: NodeLink,
  routes: NodeRoutes,
  more: Partial<RemoteMailboxSettings> = {},
): RemoteMailbox {
  const box = new RemoteMailbox({
    partition: 0,
    routes,
    open: (node) => link.open(0, node),
    room: new MailboxCapacity(1000),
    patience_ms: 30_000,
    depth: () => {},
    waits: new Waits(() => false),
    ...more,
  })
  t.teardown(() => box.close())
  return box
}

/** The levels of an entity that were taken, in their order. */
function levelsTaken(taken: readonly (readonly Command[])[], entity: string): readonly number[] {
  return taken.flat().flatMap((each) => (each.kind === 'update' && each.id === entity ? [levelIn(each)] : []))
}

function levelIn(update: Extract<Command, { kind: 'update' }>): number {
  return Number(update.attributes[0]?.value)
}

/** The level of an entity that the partition has; 0 for none. */
function shownLevel(store: PartitionStore, entity: string): number {
  return Number(store.entities(tenant, root, id(entity))[0]?.attributes[0]?.value ?? 0)
}

function isRising(levels: readonly number[]): boolean {
  return levels.every((level, at) => at === 0 || level > (levels[at - 1] ?? level))
}

const done = { ok: true, value: { reply: { kind: 'updated' } } }

test('commands of one turn of the event loop go together, those of many in order; the room is given back', async (t) => {
  const node = await GivenNode.start(t)
  const room = new MailboxCapacity(1000)
  const depths: number[] = []
  const depth = (commands: number): void => void depths.push(commands)
  const box = mailbox(t, linkTo(t, [node.address]), new Routes('b'), { room, depth })
  const request = Array.from({ length: 600 }, (_, at) => box.ask(levelOf('A', String(at))))
  t.equal(room.taken, 600)
  t.ok((await Promise.all(request)).every(({ ok }) => ok))
  t.ok(isRising(levelsTaken(node.taken, 'A')))
  t.ok(node.taken.length <= 3)
  await box.empty()
  t.same([room.taken, Math.max(...depths), depths.at(-1)], [0, 600, 0])
  t.match(await box.ping(), { value: { reply: { kind: 'pong' } } })
  t.equal(room.taken, 0)
})

test('it refuses when full, as a local mailbox does, and after its end', async (t) => {
  const node = await GivenNode.start(t)
  const box = mailbox(t, linkTo(t, [node.address]), new Routes('b'), { room: new MailboxCapacity(2) })
  const requests = ['1', '2', '3'].map((level) => box.ask(levelOf('A', level)))
  t.match(await Promise.all(requests), [done, done, { error: { kind: 'mailboxFull' } }])
  t.equal(box.reserve(2), undefined)
  box.release(2)
  box.close()
  t.match(await box.ask(levelOf('A', '4')), { error: { kind: 'partitionLost' } })
})

test('while nobody is known to own the partition commands wait, and go to the first owner', async (t) => {
  const node = await GivenNode.start(t)
  const routes = new Routes(undefined)
  const box = mailbox(t, linkTo(t, [node.address]), routes)
  const requests = [1, 2, 3].map((level) => box.ask(levelOf('A', String(level))))
  await new Promise((resolve) => setImmediate(resolve))
  t.equal(node.taken.length, 0)
  routes.become('b')
  t.match(await Promise.all(requests), [done, done, done])
  t.same(levelsTaken(node.taken, 'A'), [1, 2, 3])
})

test('what comes back from a node that is not the owner goes to the one that it names, before what is newer', async (t) => {
  const [b, c] = [await GivenNode.start(t, 'b'), await GivenNode.start(t, 'c')]
  const proxy = await CuttingProxy.before(t, b)
  const box = mailbox(t, linkTo(t, [proxy.address('b'), c.address]), new Routes('b'))
  t.match(await box.ask(levelOf('A', '0')), done)
  b.owner = 'c'
  proxy.hold()
  const requests: ReturnType<RemoteMailbox['ask']>[] = []
  for (let level = 1; level <= 12; level += 1) {
    requests.push(box.ask(levelOf('A', String(level))))
    await new Promise((resolve) => setImmediate(resolve))
  }
  proxy.release()
  t.match(
    await Promise.all(requests),
    requests.map(() => done),
  )
  t.same(
    levelsTaken(c.taken, 'A'),
    Array.from({ length: 12 }, (_, at) => at + 1),
  )
})

test('nodes that name each other in turn are asked three times more', async (t) => {
  const [b, c] = [await GivenNode.start(t, 'b'), await GivenNode.start(t, 'c')]
  b.owner = 'c'
  c.owner = 'b'
  const box = mailbox(t, linkTo(t, [b.address, c.address]), new Routes('b'))
  t.match(await box.ask(levelOf('A', '1')), { error: { kind: 'partitionLost' } })
  t.same([b.taken.length, c.taken.length], [2, 2])
})

test('a node that is not the owner and names nobody is asked again until it is, or another one', async (t) => {
  const b = await GivenNode.start(t, 'b')
  b.owner = undefined
  const box = mailbox(t, linkTo(t, [b.address]), new Routes('b'))
  const request = box.ask(levelOf('A', '1'))
  await until(() => b.taken.length >= 2)
  b.owner = 'b'
  t.match(await request, done)
})

test('a node that cannot be reached is tried again, since nothing was sent', async (t) => {
  const b = await GivenNode.start(t, 'b')
  const proxy = await CuttingProxy.before(t, b)
  proxy.refuse(true)
  const link = linkTo(t, [proxy.address('b')])
  const box = mailbox(t, link, new Routes('b'), { open: (node) => link.open(0, node) })
  const gone = linkTo(t, [{ node: 'b', host: '127.0.0.1', port: 1 }])
  let isThere = false
  const other = mailbox(t, link, new Routes('b'), { open: (node) => (isThere ? link : gone).open(0, node) })
  const requests = [other.ask(levelOf('A', '1')), other.ask(levelOf('A', '2'))]
  await new Promise((resolve) => setTimeout(resolve, 50))
  proxy.refuse(false)
  isThere = true
  t.match(await Promise.all(requests), [done, done])
  t.match(await box.ask(levelOf('A', '3')), done)
  t.same(levelsTaken(b.taken, 'A'), [1, 2, 3])
})

test('what comes back in another order is sent on in the order in which it was put in', async (t) => {
  const a = await GivenNode.start(t, 'a')
  const { takes: open, route: failing } = playedRoute(8)
  let isFirst = true
  const box = mailbox(t, linkTo(t, []), new Routes('a'), {
    open: () => {
      const route = isFirst ? failing : new LocalRoute(a.partition.mailbox)
      isFirst = false
      return route
    },
  })
  const requests: ReturnType<RemoteMailbox['ask']>[] = []
  for (let level = 1; level <= 5; level += 1) {
    requests.push(box.ask(levelOf('A', String(level))))
    await until(() => open.length === level)
  }
  for (const take of open.reverse()) take({ outcomes: [{ ok: false, error: { kind: 'unsent' } }] })
  t.match(
    await Promise.all(requests),
    requests.map(() => done),
  )
  t.equal(a.partition.store.entities(tenant, root, id('A'))[0]?.attributes[0]?.value, '5')
})

/** A way whose outcomes a test gives, batch by batch. */
function playedRoute(batchesMost = 2) {
  const takes: ((part: OutcomePart) => void)[] = []
  const route: BatchRoute = {
    batchesMost,
    opened: Promise.resolve(ok({ epoch: 1 })),
    send: (_commands, _until_ms, take) => void takes.push(take),
    close: () => {},
  }
  return { takes, route }
}

const acked: SentOutcome = ok({ reply: { kind: 'acked' }, turn: { decided_ns: 1, committed_ns: 1 }, entered: 0n })

test('a batch that is answered in part keeps no other one from being sent, and gives the room of that part back', async (t) => {
  const { takes, route } = playedRoute()
  const room = new MailboxCapacity(1000)
  const box = mailbox(t, linkTo(t, []), new Routes('b'), { open: () => route, room })
  const requests: ReturnType<RemoteMailbox['ask']>[] = []
  const replied: number[] = []
  const send = (level: number): void => {
    const each = box.ask(levelOf('A', String(level)))
    requests.push(each)
    void each.then(() => replied.push(level))
  }
  send(0)
  send(1)
  send(2)
  await until(() => takes.length === 1)
  send(3)
  await until(() => takes.length === 2)
  send(4)
  await new Promise((resolve) => setImmediate(resolve))
  t.equal(takes.length, 2, 'as many as may be under way')
  takes[0]?.({ outcomes: [acked], at: [1] })
  await until(() => takes.length === 3)
  t.equal(room.taken, 4)
  takes[0]?.({ outcomes: [acked, acked], at: [2, 0] })
  takes[1]?.({ outcomes: [acked] })
  takes[2]?.({ outcomes: [], at: [] })
  takes[2]?.({ outcomes: [acked], at: [0] })
  await Promise.all(requests)
  t.same(replied, [1, 2, 0, 3, 4])
  t.equal(room.taken, 0)
})

test('what was deferred on a way that is refused and breaks is not known; what was sent behind the refusal is sent again', async (t) => {
  const a = await GivenNode.start(t, 'a')
  const { takes, route } = playedRoute()
  a.partition.position.own(2)
  let ways = 0
  const open = (): BatchRoute => {
    ways += 1
    return ways === 1 ? route : new LocalRoute(a.partition.mailbox, a.partition.position.fencingToken)
  }
  const box = mailbox(t, linkTo(t, []), new Routes('b'), { open })
  const first = [box.ask(levelOf('Deferred', '1')), box.ask(levelOf('Refused', '1'))]
  await until(() => takes.length === 1)
  const behind = box.ask(levelOf('Behind', '1'))
  await until(() => takes.length === 2)
  takes[0]?.({ outcomes: [{ ok: false, error: { kind: 'notOwner', owner: 'a' } }], at: [1] })
  takes[0]?.({ outcomes: [{ ok: false, error: { kind: 'unanswered' } }], at: [0] })
  takes[1]?.({ outcomes: [{ ok: false, error: { kind: 'unanswered' } }] })
  t.match(await Promise.all([...first, behind]), [{ error: { kind: 'outcomeUnknown' } }, done, done])
  t.equal(shownLevel(a.partition.store, 'Deferred'), 0)
})

test('on its own node too a quick update is answered before the slow ones that were put in with it', async (t) => {
  const { partition } = await GivenNode.start(t, 'a')
  const box = mailbox(t, linkTo(t, []), new Routes('a'), { open: () => new LocalRoute(partition.mailbox) })
  const replied: string[] = []
  const slow = slowElements(10)
  await Promise.all(
    [...slow.slice(0, 9), levelOf('Quick', '1'), ...slow.slice(9)].map((each) =>
      box.ask(each).then(() => replied.push(each.kind)),
    ),
  )
  t.ok(replied.indexOf('update') < 9, `${replied}`)
})

test('what waits too long is given up: not carried out, or not known when it was sent', async (t) => {
  const b = await GivenNode.start(t, 'b')
  const proxy = await CuttingProxy.before(t, b)
  const routes = new Routes('b')
  const room = new MailboxCapacity(1000)
  const box = mailbox(t, linkTo(t, [proxy.address('b')]), routes, { patience_ms: 3000, room })
  t.match(await box.ask(levelOf('A', '1')), done)
  proxy.hold()
  const sent: ReturnType<RemoteMailbox['ask']>[] = []
  for (let level = 2; level < 10; level += 1) {
    sent.push(box.ask(levelOf('A', String(level))))
    await new Promise((resolve) => setImmediate(resolve))
  }
  const waiting = box.ask(levelOf('A', '10'))
  t.match(
    await Promise.all(sent),
    sent.map(() => ({ error: { kind: 'outcomeUnknown' } })),
  )
  t.match(await waiting, { error: { kind: 'partitionLost' } })
  t.equal(room.taken, 0)
  proxy.release()
  const later = box.ask(levelOf('A', '11'))
  await until(() => levelsTaken(b.taken, 'A').includes(11))
  t.ok(isRising(levelsTaken(b.taken, 'A')), 'what was given up arrives before what is newer')
  t.notOk(levelsTaken(b.taken, 'A').includes(10))
  await later
})

test('the owner may be this node: before, between and after others', async (t) => {
  const [a, b] = [await GivenNode.start(t, 'a'), await GivenNode.start(t, 'b')]
  const link = linkTo(t, [b.address])
  const routes = new Routes('a')
  const open = (node: string) => (node === 'a' ? new LocalRoute(a.partition.mailbox) : link.open(0, node))
  const box = mailbox(t, link, routes, { open })
  const requests: ReturnType<RemoteMailbox['ask']>[] = []
  for (let level = 1; level <= 60; level += 1) {
    requests.push(box.ask(levelOf('A', String(level))))
    if (level === 20) routes.become('b')
    if (level === 40) {
      await until(() => b.taken.length > 0, 'the way to the other one is open')
      routes.become('a')
    }
    await new Promise((resolve) => setImmediate(resolve))
  }
  t.ok((await Promise.all(requests)).every(({ ok }) => ok))
  const levels = levelsTaken(b.taken, 'A')
  t.ok(levels.length > 0 && isRising(levels))
  t.equal(a.partition.store.entityCount, 1)
})

test('what is pipelined behind a refused batch is not carried out, though the node becomes the owner in between', async (t) => {
  const b = await GivenNode.start(t)
  const { ownership, store } = b.partition
  const proxy = await CuttingProxy.before(t, b)
  const box = mailbox(t, linkTo(t, [proxy.address('b')]), new Routes('b'))
  t.match(await box.ask(levelOf('A', '0')), done)
  ownership.isOwner = false
  const first = box.ask(levelOf('A', '1'))
  b.before = async ([command]) => {
    if (command?.kind !== 'update' || levelIn(command) !== 2) return undefined
    b.before = () => undefined
    // The partition refuses the first one before the second one arrives there.
    await until(() => b.partition.position.fencingToken.refusals > 0)
    ownership.isOwner = true
    return undefined
  }
  await new Promise((resolve) => setImmediate(resolve))
  const second = box.ask(levelOf('A', '2'))
  t.match(await Promise.all([first, second]), [done, done])
  t.equal(shownLevel(store, 'A'), 2)
})

test('on its own node neither', async (t) => {
  const { partition } = await GivenNode.start(t, 'a')
  const { ownership, position, store, mailbox: local } = partition
  const open = () => new LocalRoute(local, position.fencingToken)
  const box = mailbox(t, linkTo(t, []), new Routes('a'), { open })
  t.match(await box.ask(levelOf('A', '0')), done)
  ownership.isOwner = false
  const second = new Promise<unknown>((resolve) => {
    const refused = position.refused.bind(position)
    // The first one is refused by the partition, and its reply is not sent yet.
    position.refused = () => {
      position.refused = refused
      refused()
      ownership.isOwner = true
      resolve(box.ask(levelOf('A', '2')))
      box.catchUp()
    }
  })
  t.match(await Promise.all([box.ask(levelOf('A', '1')), second]), [done, done])
  t.equal(shownLevel(store, 'A'), 2)
})

test('who is told that the outcome is not known is not overtaken by it, whichever way it goes on', async (t) => {
  const b = await GivenNode.start(t)
  const proxy = await CuttingProxy.before(t, b)
  const box = mailbox(t, linkTo(t, [proxy.address('b')]), new Routes('b'))
  const other = mailbox(t, linkTo(t, [b.address], undefined, { frontEnd: 1 }), new Routes('b'))
  t.match(await box.ask(levelOf('A', '0')), done)
  proxy.hold()
  const unknown = box.ask(levelOf('A', '1'))
  await until(() => proxy.held > 0)
  proxy.cutClients()
  // The next connection is not opened either while nothing gets through.
  const held = until(() => proxy.accepted > 1 && proxy.held > 1)
  if (await Promise.race([unknown.then(() => true), held.then(() => false)])) {
    t.match(await other.ask(levelOf('A', '2')), done)
    proxy.release()
    await until(() => levelsTaken(b.taken, 'A').includes(1))
  } else {
    proxy.release()
    t.match(await unknown, { error: { kind: 'outcomeUnknown' } })
    t.match(await other.ask(levelOf('A', '2')), done)
  }
  for (const each of [box, other]) t.match(await each.ping(), { ok: true })
  t.equal(shownLevel(b.partition.store, 'A'), 2)
})

test('an owner by a later election answers what is not known of an earlier one: that is carried out no more', async (t) => {
  const [b, c] = [await GivenNode.start(t, 'b'), await GivenNode.start(t, 'c')]
  const proxy = await CuttingProxy.before(t, b)
  const routes = new Routes('b')
  const box = mailbox(t, linkTo(t, [proxy.address('b'), c.address]), routes)
  t.match(await box.ask(levelOf('A', '0')), done)
  proxy.hold()
  const unknown = box.ask(levelOf('A', '1'))
  await until(() => proxy.held > 0)
  proxy.refuse(true)
  proxy.cutClients()
  await new Promise((resolve) => setImmediate(resolve))
  c.partition.position.own(2)
  routes.become('c')
  t.match(await unknown, { error: { kind: 'outcomeUnknown' } })
})

test('while what is not known waits its room is taken, and a close answers it', async (t) => {
  const b = await GivenNode.start(t)
  const proxy = await CuttingProxy.before(t, b)
  const room = new MailboxCapacity(1)
  const box = mailbox(t, linkTo(t, [proxy.address('b')]), new Routes('b'), { room })
  t.match(await box.ask(levelOf('A', '0')), done)
  proxy.hold()
  const unknown = box.ask(levelOf('A', '1'))
  await until(() => proxy.held > 0)
  proxy.refuse(true)
  proxy.cutClients()
  await new Promise((resolve) => setTimeout(resolve, 20))
  t.match(await box.ask(levelOf('A', '2')), { error: { kind: 'mailboxFull' } })
  box.close()
  t.match(await unknown, { error: { kind: 'outcomeUnknown' } })
  await box.empty()
  t.equal(room.taken, 0)
})

/** Ten entities have a writer each, which sends the next level when it has an outcome; some of them pass a link that breaks. */
async function history(t: Test, cuts: readonly Cut[]): Promise<void> {
  const node = await GivenNode.start(t)
  const proxy = await CuttingProxy.before(t, node, cuts)
  const box = mailbox(t, linkTo(t, [proxy.address('b')]), new Routes('b'))
  const entities = Array.from({ length: 10 }, (_, at) => `E${at}`)
  await Promise.all(
    entities.map(async (entity) => {
      const acknowledged: number[] = []
      // The last one comes when the link is whole.
      for (let level = 1; level <= 12 || acknowledged.at(-1) !== level - 1; level += 1) {
        const { ok } = await box.ask(levelOf(entity, String(level)))
        if (ok) acknowledged.push(level)
      }
      const taken = levelsTaken(node.taken, entity)
      assert.ok(isRising(taken), `${entity}: each once, in order, and not ${taken}`)
      assert.ok(
        acknowledged.every((level) => taken.includes(level)),
        'what was acknowledged was carried out',
      )
    }),
  )
}

test('over connections that break anywhere each command is carried out once at most, and in order', async (t) => {
  const cut = fc.record({
    after_bytes: fc.nat(6_000),
    of: fc.constantFrom<Cut['of']>('requests', 'responses'),
    late_ms: fc.constantFrom(undefined, 0, 5),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(cut, { minLength: 1, maxLength: 6 }), (cuts) =>
      history(
        t,
        cuts.map(({ late_ms, ...rest }) => (late_ms === undefined ? rest : { ...rest, late_ms })),
      ),
    ),
    { numRuns: runs(60) },
  )
  t.pass()
})
