import * as fc from 'fast-check'
import { test } from 'tap'
import {
  type Choice,
  type ChoiceFacts,
  OwnerChoice,
  placed,
  placedCoordinator,
} from '../../src/cluster/membership/placing.js'
import type { LogName } from '../../src/storage/etcd/engine.js'
import type { NodeFacts } from '../../src/storage/etcd/node-facts.js'
import type { LogSequence } from '../../src/storage/wal/record-log.js'

const seven = ['a', 'b', 'c', 'd', 'e', 'f', 'g']
const some = fc.uniqueArray(fc.constantFrom(...seven), { minLength: 1 })

function where(nodes: readonly string[], members: readonly string[], partitions: number, replicas: number) {
  return placed({ nodes, members: new Set(members), partitions, replicas })
}

test('every partition is owned by a member that keeps it, and none owns more than its share', async () => {
  fc.assert(
    fc.property(some, fc.integer({ min: 1, max: 40 }), (nodes, partitions) => {
      const owners = where(nodes, nodes, partitions, nodes.length).map(({ owner }) => owner)
      const most = Math.ceil(partitions / nodes.length)
      return (
        nodes.every((node) => owners.filter((owner) => owner === node).length <= most) && !owners.includes(undefined)
      )
    }),
  )
})

test('as many nodes as are asked for keep a replica, and one of them that is a member is the owner', async () => {
  fc.assert(
    fc.property(some, some, fc.integer({ min: 1, max: 4 }), (nodes, members, replicas) => {
      return where(nodes, members, 12, replicas).every(({ replicas: keeping, owner }) => {
        const here = keeping.filter((node) => members.includes(node))
        const isRight = here.length === 0 ? owner === undefined : here.includes(owner ?? '')
        return isRight && keeping.length === Math.min(replicas, nodes.length)
      })
    }),
  )
})

test('the order in which nodes are listed does not matter, and who comes takes replicas from others only for itself', async () => {
  fc.assert(
    fc.property(some, (nodes) => {
      const before = where(nodes, nodes, 12, 2)
      const after = where([...nodes].reverse().concat('new'), nodes, 12, 2)
      return before.every(({ replicas }, partition) => {
        const left = after[partition]?.replicas.filter((node) => node !== 'new') ?? []
        return left.every((node, at) => node === replicas[at])
      })
    }),
  )
})

test('a partition whose first node is no member is owned by the next one', async (t) => {
  const [first] = where(['a', 'b', 'c'], ['a', 'b', 'c'], 1, 3)
  const [one, other] = first?.replicas ?? []
  t.equal(first?.owner, one)
  const left = ['a', 'b', 'c'].filter((node) => node !== one)
  t.equal(where(['a', 'b', 'c'], left, 1, 3)[0]?.owner, other)
  t.equal(where(['a', 'b', 'c'], [], 1, 3)[0]?.owner, undefined)
})

const partitions = 6
const names = ['a', 'b', 'c']
const coordinator = placedCoordinator({ nodes: names, members: new Set(names) }).owner ?? ''

/** Members of which some name others that they cannot reach, and some have full disks. */
function membersOf(
  unreachable: Readonly<Record<string, readonly string[]>>,
  present = names,
  full: readonly string[] = [],
): readonly NodeFacts[] {
  return present.map((name, slot) => ({
    ...{ hosts: [], ports: [] },
    ...{ name, slot, address: `${name}:1027`, formats: [1], owns: [], coordinates: 0 as LogSequence },
    unreachable: unreachable[name] ?? [],
    isLeaving: false,
    isFull: full.includes(name),
  }))
}

/** Who owns what, by the numbers of partitions; somebody coordinates. */
function ownedBy(owners: readonly (string | undefined)[]): ChoiceFacts['owners'] {
  const partitions = owners.flatMap((node, partition) => (node === undefined ? [] : [[partition, node] as const]))
  return new Map<LogName, string>([['control', coordinator], ...partitions])
}

/** The numbers of the partitions that belong to a node among these. */
function placesOf(node: string, present: readonly string[] = names): readonly number[] {
  const places = placed({ nodes: names, members: new Set(present), partitions, replicas: names.length })
  return places.flatMap(({ owner }, partition) => (owner === node ? [partition] : []))
}

function isPartition(log: LogName): boolean {
  return log !== 'control'
}

/** What a node decides at a moment. */
class Deciding {
  readonly #choice: OwnerChoice
  readonly #node: string

  constructor(node: string, rebalanceDelay_ms = 10_000) {
    this.#node = node
    this.#choice = new OwnerChoice({ node, partitions, rebalanceDelay_ms }, 0)
  }

  /** Of the partitions. */
  at(now_ms: number, members: readonly NodeFacts[], owners: readonly (string | undefined)[]): Choice {
    const { own, release } = this.all(now_ms, members, ownedBy(owners))
    return { own: own.filter(isPartition), release: release.filter(isPartition) }
  }

  all(now_ms: number, members: readonly NodeFacts[], owners: ChoiceFacts['owners']): Choice {
    const owned = [...owners].flatMap(([log, node]) => (node === this.#node ? [log] : []))
    return this.#choice.choice({ listed: names, members, owners, now_ms }, new Set(owned))
  }
}

const nobody = Array.from({ length: partitions }, () => undefined)
const all = (node: string): readonly string[] => Array.from({ length: partitions }, () => node)
/** Each partition with whom it belongs to. */
const placedOwners = names.reduce<(string | undefined)[]>((owners, node) => {
  for (const partition of placesOf(node)) owners[partition] = node
  return owners
}, [])

test('a node campaigns for what belongs to it and has no owner, and hands over what does not when members are stable', async (t) => {
  const a = new Deciding('a')
  t.same(a.at(0, membersOf({}), nobody), { own: placesOf('a'), release: [] })
  const more = all('a').length - placesOf('a').length
  t.ok(more > 1)
  t.same(a.at(9_000, membersOf({}), all('a')), { own: [], release: [] })
  t.equal(a.at(10_000, membersOf({}), all('a')).release.length, 1, 'one at a time')
  t.same(a.at(20_000, membersOf({}, ['a', 'b']), all('a')).release, [], 'a member has gone')
})

test('how long members have to be stable before anything is handed over can be said', async (t) => {
  const [soon, late] = [new Deciding('a', 0), new Deciding('a', 60_000)]
  for (const a of [soon, late]) a.at(0, membersOf({}), nobody)
  t.equal(soon.at(1, membersOf({}), all('a')).release.length, 1)
  t.same(late.at(59_999, membersOf({}), all('a')).release, [])
  t.equal(late.at(60_000, membersOf({}), all('a')).release.length, 1)
})

test('what a member has that is to own nothing is taken over when it has released it', async (t) => {
  const a = new Deciding('a')
  const staying = membersOf({}, ['a', 'b'])
  t.same(a.at(0, staying, all('c')).own, [])
  t.same(a.at(1_000, staying, nobody).own, placesOf('a', ['a', 'b']))
})

test('whom most members cannot reach owns nothing, and the others campaign for what it had', async (t) => {
  const cut = membersOf({ a: ['c'], b: ['c'] })
  const [a, c] = [new Deciding('a'), new Deciding('c')]
  t.same(a.at(0, membersOf({}), all('c')).own, [])
  t.same(a.at(1_000, cut, all('c')).own, placesOf('a', ['a', 'b']))
  t.same(c.at(1_000, cut, all('c')), { own: [], release: all('c').map((_, partition) => partition) })
  const taken = placedOwners.map((_, partition) => (placesOf('a', ['a', 'b']).includes(partition) ? 'a' : 'b'))
  t.same(c.at(5_000, membersOf({}), taken), { own: [], release: [] })
  // Ten seconds after they have said so last it may own something again; it is handed over ten seconds later.
  t.same(a.at(10_500, membersOf({}), taken).release, [])
  t.same(a.at(11_000, membersOf({}), taken).release, [])
  t.same(a.at(20_999, membersOf({}), taken).release, [])
  t.equal(
    a.at(21_000, membersOf({}), taken).release.length,
    placesOf('a', ['a', 'b']).some((of) => placesOf('c').includes(of)) ? 1 : 0,
  )
})

test('whose disk is full owns nothing while others have room, and may own something ten seconds after it has room', async (t) => {
  const full = membersOf({}, names, ['c'])
  const [a, c] = [new Deciding('a'), new Deciding('c')]
  t.same(c.at(0, full, all('c')), { own: [], release: all('c').map((_, partition) => partition) })
  t.same(a.at(0, full, all('c')).own, [], 'it is taken over when it is released')
  t.same(a.at(1_000, full, nobody).own, placesOf('a', ['a', 'b']))
  t.same(c.at(9_999, membersOf({}), nobody).own, [])
  t.same(c.at(10_000, membersOf({}), nobody).own, placesOf('c'))
  const everybody = membersOf({}, names, names)
  t.same(a.at(20_000, everybody, placedOwners), { own: [], release: [] }, 'where nobody has room all stays as it is')
})

test('whom one of three cannot reach keeps what it has, and so do two that do not reach each other', async (t) => {
  t.same(new Deciding('c').at(0, membersOf({ a: ['c'] }), all('c')), { own: [], release: [] })
  t.same(new Deciding('a').at(0, membersOf({ a: ['c'] }), all('c')).own, [])
  const two = membersOf({ a: ['b'], b: ['a'] }, ['a', 'b'])
  t.same(new Deciding('b').at(0, two, all('b')).release, [])
  const everybody = membersOf({ a: ['b', 'c'], b: ['a', 'c'], c: ['a', 'b'] })
  t.same(new Deciding('a').at(0, everybody, all('a')).release, [], 'where nobody reaches anybody all stays as it is')
})

test('what its node does not campaign for is taken over by the next one, which keeps it until that is no member any more', async (t) => {
  const [partition = 0] = placesOf('a')
  const others = names.filter((node) => node !== 'a').map((node) => [node, new Deciding(node)] as const)
  const unowned = placedOwners.map((owner, number) => (number === partition ? undefined : owner))
  const campaigning = (now_ms: number): readonly string[] =>
    others.flatMap(([node, deciding]) =>
      deciding.at(now_ms, membersOf({}), unowned).own.includes(partition) ? [node] : [],
    )
  t.same(campaigning(0), [])
  t.same(campaigning(9_999), [])
  const [next = ''] = campaigning(10_000)
  t.ok(next)
  t.equal(campaigning(20_000).length, 2, 'when that does not either, the one after it')
  const held = placedOwners.map((owner, number) => (number === partition ? next : owner))
  const deciding = others.find(([node]) => node === next)?.[1]
  t.same(deciding?.at(60_000, membersOf({}), held).release, [])
  deciding?.at(61_000, membersOf({}, ['b', 'c']), held)
  deciding?.at(62_000, membersOf({}), held)
  t.same(deciding?.at(72_000, membersOf({}), held).release, [partition])
})

test('the metadata log is taken over, handed over and passed on as those of partitions are', async (t) => {
  const [first = '', second = '', third = ''] = placedCoordinator({ nodes: names, members: new Set(names) }).replicas
  t.equal(first, coordinator)
  const look = (deciding: Deciding, now_ms: number, holder?: string, unreachable = {}) => {
    const owners = new Map(ownedBy(placedOwners))
    if (holder === undefined) owners.delete('control')
    else owners.set('control', holder)
    const { own, release } = deciding.all(now_ms, membersOf(unreachable), owners)
    return { campaigns: own.includes('control'), releases: release.includes('control') }
  }
  t.ok(look(new Deciding(first), 0).campaigns)
  const next = new Deciding(second)
  t.notOk(look(next, 0).campaigns)
  t.ok(look(next, 10_000).campaigns)
  t.notOk(look(next, 60_000, second).releases, 'it has been elected in place of another one')
  const other = new Deciding(second)
  t.notOk(look(other, 0, second).releases)
  t.ok(look(other, 10_000, second).releases)
  const cut = { [second]: [first], [third]: [first] }
  t.ok(look(new Deciding(first), 0, first, cut).releases)
  t.ok(look(new Deciding(second), 0, first, cut).campaigns)
})
