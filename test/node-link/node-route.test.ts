import assert from 'node:assert/strict'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { test } from 'tap'
import type { BatchRoute, SentOutcome } from '../../src/cluster/link/batch-route.js'
import { LaterOutcomes } from '../../src/cluster/link/later-outcomes.js'
import type { NodeLink } from '../../src/cluster/link/node-link.js'
import type { Command } from '../../src/partition/turn/commands.js'
import { slowElements } from '../mailbox/given.js'
import { until } from '../until.js'
import { Authority } from './certificates.js'
import { CuttingProxy } from './cutting-proxy.js'
import { GivenNode, levelOf, linkTo, notOwner, sentBy } from './given.js'

function kinds(outcomes: readonly SentOutcome[]): readonly string[] {
  return outcomes.map((outcome) => (outcome.ok ? outcome.value.reply.kind : outcome.error.kind))
}

/** When a sender waits no more that has just sent something. */
function soon(): number {
  return performance.now() + 60_000
}

/** A way that is opened. */
async function opened(link: NodeLink, node = 'b'): Promise<BatchRoute> {
  const route = link.open(0, node)
  if (route === undefined) throw new Error('it is no member')
  assert.ok((await route.opened).ok)
  return route
}

/** Sends batches of one command each, one behind the other, and gives the kinds of their outcomes. */
async function sent(link: NodeLink, commands: readonly Command[], node = 'b'): Promise<readonly string[]> {
  const route = link.open(0, node)
  if (route === undefined) return ['no member']
  const way = await route.opened
  if (!way.ok) return [way.error.kind]
  const outcomes = await Promise.all(commands.map((each) => sentBy(route, [each], soon())))
  route.close()
  return kinds(outcomes.flat())
}

function levels(count: number): readonly Command[] {
  return Array.from({ length: count }, (_, at) => levelOf('Silo1', String(at)))
}

test('batches are pipelined on one connection and carried out in the order in which they were sent', async (t) => {
  const node = await GivenNode.start(t)
  const proxy = await CuttingProxy.before(t, node)
  const link = linkTo(t, [proxy.address('b')])
  let release = (): void => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  node.before = (commands) => held.then(() => commands.map(() => notOwner))
  const route = await opened(link)
  const first = levels(8).map((each) => sentBy(route, [each], soon()))
  await until(() => node.taken.length === 8)
  t.equal(proxy.accepted, 1, 'eight are under way on one connection')
  release()
  t.same(kinds((await Promise.all(first)).flat()), Array(8).fill('notOwner'))
  node.before = () => undefined
  t.same(await sent(link, levels(30)), Array(30).fill('updated'))
  const taken = node.taken.slice(8).flat()
  t.match(
    taken,
    levels(30).map((each) => ({ attributes: each.kind === 'update' ? each.attributes : [] })),
  )
})

test('replies come with what their turn took', async (t) => {
  const node = await GivenNode.start(t)
  const [outcome] = await sentBy(await opened(linkTo(t, [node.address])), [levelOf('A', '1')], soon())
  t.match(outcome, { ok: true, value: { reply: { kind: 'updated', items: [{ id: 'A' }] } } })
  t.ok(outcome?.ok && outcome.value.turn.decided_ns > 0 && outcome.value.turn.committed_ns > 0)
})

test('what was under way on a broken connection is not known, and never sent again', async (t) => {
  for (const of of ['requests', 'responses'] as const) {
    const node = await GivenNode.start(t)
    const wasOpened = new Set<boolean>()
    for (let after_bytes = of === 'requests' ? 100 : 0; after_bytes < 900; after_bytes += 150) {
      node.taken.length = 0
      const proxy = await CuttingProxy.before(t, node, [{ of, after_bytes }])
      const outcomes = await sent(linkTo(t, [proxy.address('b')]), levels(6))
      const done = outcomes.filter((kind) => kind === 'updated').length
      const isOpened = outcomes[0] !== 'unsent'
      t.ok(
        outcomes.every((kind, at) => kind === (at < done ? 'updated' : isOpened ? 'unanswered' : 'unsent')),
        `${of} ${after_bytes}`,
      )
      wasOpened.add(isOpened)
      t.same([proxy.accepted, done < 6], [1, true], 'there is no second connection')
      t.ok(node.taken.length >= done && node.taken.length <= (isOpened ? 6 : 0))
    }
    t.same(wasOpened, new Set([false, true]), 'before the first response nothing is sent')
  }
})

test('what takes longer to arrive than its sender waits is refused', async (t) => {
  const node = await GivenNode.start(t)
  const proxy = await CuttingProxy.before(t, node)
  const route = await opened(linkTo(t, [proxy.address('b')]))
  t.match(await sentBy(route, [levelOf('A', '1')], soon()), [{ value: { reply: { kind: 'updated' } } }])
  proxy.hold()
  const until_ms = performance.now() + 50
  const late = sentBy(route, [levelOf('A', '2')], until_ms)
  const inTime = sentBy(route, [levelOf('B', '2')], soon())
  await until(() => performance.now() > until_ms)
  proxy.release()
  t.match(await late, [{ value: { reply: { kind: 'failed', why: 'late' } } }])
  t.match(await inTime, [{ value: { reply: { kind: 'updated' } } }])
  t.equal(node.taken.length, 3, 'it has arrived')
})

/** Sends a batch and notes what is answered, with a name for each command. */
function noted(
  route: BatchRoute,
  commands: readonly Command[],
  nameOf: (at: number) => string,
  events: string[],
): void {
  route.send(commands, soon(), ({ outcomes, at }) => {
    for (const [index, kind] of kinds(outcomes).entries()) events.push(`${nameOf(at?.[index] ?? index)} ${kind}`)
  })
}

test('a quick update is answered before slow ones of another request of its batch, and so is one of a later batch', async (t) => {
  const node = await GivenNode.start(t)
  const proxy = await CuttingProxy.before(t, node)
  const route = await opened(linkTo(t, [proxy.address('b')]))
  const events: string[] = []
  const slow = slowElements(20)
  const mixed = [...slow.slice(0, 10), levelOf('Quick', '1'), ...slow.slice(10)]
  noted(route, mixed, (at) => (at === 10 ? 'quick' : `slow ${at - Number(at > 10)}`), events)
  await until(() => events.includes('quick updated'))
  const before = events.length
  noted(route, [levelOf('Later', '1')], () => 'later', events)
  await until(() => events.includes('later updated'))
  t.ok(before < 21 && events.indexOf('later updated') < 21, `${before}, ${events}`)
  await until(() => events.length === 22)
  t.same(
    events.filter((each) => each.startsWith('slow')),
    slow.map((_, at) => `slow ${at} rawUpdate`),
    'elements of one request in their order',
  )
  t.same([node.taken.length, proxy.accepted], [2, 1])
})

test('of a connection that breaks in the middle of a batch what was answered is, and the rest is not known', async (t) => {
  const node = await GivenNode.start(t)
  const proxy = await CuttingProxy.before(t, node)
  const route = await opened(linkTo(t, [proxy.address('b')]))
  const events: string[] = []
  noted(route, [...slowElements(30), levelOf('Quick', '1')], String, events)
  await until(() => events.length > 0)
  proxy.cut()
  await until(() => events.length === 31)
  t.equal(new Set(events.map((each) => each.split(' ')[0])).size, 31, 'each has one outcome')
  const unknown = events.filter((each) => each.endsWith('unanswered'))
  t.ok(unknown.length > 0 && unknown.length < 31)
  t.same(events.slice(-unknown.length), unknown)
  t.ok(events.includes('30 updated'))
  const sender = { slot: 0, frontEnd: 0, partition: 0 }
  await until(() => node.senders.isQuiet(sender))
  t.equal(node.partition.store.entityCount, 31, 'what has arrived is carried out')
})

test('responses with later outcomes that cannot be read, or are of what was not sent, end the connection', async (t) => {
  const node = await GivenNode.start(t)
  const lines: string[] = []
  const link = linkTo(t, [node.address], undefined, { warn: (line) => lines.push(line) })
  const { came } = LaterOutcomes.prototype
  t.teardown(() => {
    LaterOutcomes.prototype.came = came
  })
  LaterOutcomes.prototype.came = function (outcomes) {
    came.call(
      this,
      outcomes.map((each) => ({ ...each, at: each.at + 100 })),
    )
  }
  const events: string[] = []
  noted(await opened(link), [...slowElements(5), levelOf('Quick', '1')], String, events)
  await until(() => events.length === 6)
  t.ok(events.includes('5 updated') && events.includes('4 unanswered'))
  t.match(lines, [/cannot be read: it has outcomes of what was not sent/])
})

test('what has not left when the node cannot be reached was not sent', async (t) => {
  const node = await GivenNode.start(t)
  const { address } = node
  node.listener.close()
  t.same(await sent(linkTo(t, [address]), levels(3)), ['unsent'])
  t.same(await sent(linkTo(t, []), levels(1)), ['no member'])
})

test('a node that refuses carries nothing out of what it refuses and of what follows, and the log says why', async (t) => {
  const node = await GivenNode.start(t)
  const lines: string[] = []
  const link = linkTo(t, [node.address], undefined, { cluster: 'd', warn: (line) => lines.push(line) })
  t.same(await sent(link, levels(5)), ['refused'])
  t.equal(node.taken.length, 0)
  t.match(lines, [/partition 0 .* 409: .*this is node b of cluster c, not of d/])
})

test('an owner that knows nothing of a partition any more says who owns it; nothing was done', async (t) => {
  const node = await GivenNode.start(t)
  node.owner = 'c'
  const outcomes = await sentBy(await opened(linkTo(t, [node.address])), levels(2), soon())
  t.match(outcomes, [{ error: { kind: 'notOwner', owner: 'c' } }, { error: { kind: 'notOwner', owner: 'c' } }])
  t.equal(node.partition.store.entityCount, 0)
})

test('a batch that has lost its owner in the middle says what was done', async (t) => {
  const node = await GivenNode.start(t)
  node.before = async () => [
    { ok: true, value: { reply: { kind: 'pong' }, turn: { decided_ns: 1, committed_ns: 2 }, entered: 0n } },
    notOwner,
    { ok: false, error: { kind: 'outcomeUnknown' } },
  ]
  const outcomes = await sentBy(await opened(linkTo(t, [node.address])), levels(3), soon())
  t.same(kinds(outcomes), ['pong', 'notOwner', 'outcomeUnknown'])
})

test('by certificates nodes reach each other by the host or by the name of the node, and nobody else', async (t) => {
  const authority = new Authority()
  const tls = (names: readonly string[], of = authority) => ({
    tls: { ...of.signed(names), ca: authority.ca },
    tokens: [],
  })
  const byHost = await GivenNode.start(t, 'b', tls(['127.0.0.1']))
  const byName = await GivenNode.start(t, 'c', tls(['c']))
  const neither = await GivenNode.start(t, 'd', tls(['x']))
  const foreign = await GivenNode.start(t, 'e', tls(['127.0.0.1'], new Authority()))
  const addresses = [byHost, byName, neither, foreign].map(({ address }) => address)
  const link = linkTo(t, addresses, tls(['a']))
  t.same(await sent(link, levels(3), 'b'), Array(3).fill('updated'))
  t.same(await sent(link, levels(3), 'c'), Array(3).fill('updated'))
  t.same(await sent(link, levels(3), 'd'), ['unsent'], 'a certificate of another name')
  t.same(await sent(link, levels(3), 'e'), ['unsent'], 'a certificate of another authority')
  t.notOk((await sent(linkTo(t, addresses, tls(['a'], new Authority())), levels(3), 'b')).includes('updated'))
  t.equal(byHost.taken.length, 3)
})

test('batches that fill several pieces of TLS keep their connection', async (t) => {
  const authority = new Authority()
  const security = (name: string) => ({ tls: { ...authority.signed([name]), ca: authority.ca }, tokens: [] })
  const node = await GivenNode.start(t, 'b', security('b'))
  const reply = { kind: 'rawUpdate', accepted: true, text: 'x'.repeat(300) } as const
  const done = { ok: true, value: { reply, turn: { decided_ns: 1, committed_ns: 2 }, entered: 0n } } as const
  node.before = async (commands) => commands.map(() => done)
  const route = await opened(linkTo(t, [node.address], security('a')))
  const batch = Array.from({ length: 128 }, (_, n) => levelOf(`Silo${n}`, 'x'.repeat(300)))
  for (let round = 0; round < 20; round += 1) {
    const outcomes = await Promise.all(Array.from({ length: 8 }, () => sentBy(route, batch, soon())))
    t.same(new Set(outcomes.flatMap(kinds)), new Set(['rawUpdate']))
  }
})

test('a sender whose clock went back begins behind the connections that it had', async (t) => {
  const node = await GivenNode.start(t)
  const ahead = Date.now() + 1_000_000
  node.senders.enter({ slot: 0, frontEnd: 0, partition: 0 }, ahead)
  const link = linkTo(t, [node.address])
  t.same(await sent(link, levels(2)), ['refused'])
  await nextTurn()
  t.same(await sent(link, levels(2)), ['updated', 'updated'])
})
