import { test } from 'tap'
import { isOneRequest, TurnShares, type WaitingCommand } from '../../src/partition/turn/turn-shares.js'
import { at, command, id, origin, root, tenant } from '../given.js'
import { Random } from '../replica/schedule.js'

interface Waiting extends WaitingCommand {
  readonly name: string
}

/** A command of a request, by a letter and a number: `a1` is of request `a`. */
function waiting(order: number, request: string, entity: string): Waiting {
  const update = command('APPEND', entity, [])
  const ofRequest = { ...update, time: at(1), origin: { ...origin, correlator: request } }
  return { command: ofRequest, order, name: `${request}${order}` }
}

/** Commands as a text says: `a:X a:Y b:Z`, each with its request and its entity. */
class Given {
  readonly deferred: string[] = []
  readonly shares = new TurnShares<Waiting>({
    idOf: ({ body }) => id(body),
    deferred: ({ name }) => this.deferred.push(name),
  })
  #order = 0

  arrive(text: string): this {
    const all = text.split(' ').map((each) => {
      const [request = '', entity = ''] = each.split(':')
      this.#order += 1
      return waiting(this.#order, request, entity)
    })
    this.shares.arrived(all)
    return this
  }

  /** What a turn is offered, of which it takes this many. */
  turn(count = Number.POSITIVE_INFINITY): string {
    const offered = this.shares.next()
    this.shares.taken(offered, Math.min(count, offered.length))
    return offered.map(({ name }) => name).join(' ')
  }
}

test('what arrives is offered in its order, and what a turn had no time for stays first', async (t) => {
  const given = new Given().arrive('a:X b:Y').arrive('c:Z')
  t.equal(given.turn(1), 'a1 b2 c3')
  t.equal(given.turn(), 'b2 c3')
  t.ok(given.shares.isEmpty)
  t.same(given.deferred, [])
})

test('a request in which a turn ends is deferred behind what arrives meanwhile, turn after turn', async (t) => {
  const given = new Given().arrive('a:X a:X a:X a:X b:Y')
  t.equal(given.turn(1), 'a1 a2 a3 a4 b5')
  t.same(given.deferred, ['a2', 'a3', 'a4'])
  t.equal(given.turn(2), 'b5 a2 a3 a4')
  given.arrive('c:Z')
  t.equal(given.turn(2), 'c6 a3 a4')
  t.equal(given.turn(), 'a4')
  t.ok(given.shares.isEmpty)
})

test('deferred requests alternate', async (t) => {
  const given = new Given().arrive('a:X a:X a:X b:Y b:Y b:Y')
  given.turn(1)
  t.equal(given.turn(1), 'b4 b5 b6 a2 a3', 'b ends a turn as well')
  t.equal(given.turn(1), 'a2 a3')
  t.equal(given.turn(1), 'b5 b6')
  t.equal(given.turn(1), 'a3')
  t.equal(given.turn(1), 'b6')
})

test('an entity that a deferred request changes is not changed before, and a request keeps its order', async (t) => {
  const given = new Given().arrive('a:X a:Y b:Y b:Z c:Z d:W a:V')
  t.equal(given.turn(1), 'a1 a2 b3 b4 c5 d6 a7')
  t.same(given.deferred, ['a2', 'b3', 'b4', 'c5', 'a7'], 'b by the entity, then by itself; c by what b changes')
  t.equal(given.turn(), 'd6 a2 b3 b4 c5 a7')
})

test('an entity is free again when what was deferred of it is done', async (t) => {
  const given = new Given().arrive('a:X a:Y a:Z')
  given.turn(1)
  given.turn(1)
  t.equal(given.arrive('b:Y c:Z').turn(), 'b4 a3 c5')
})

test('two lanes that one command belongs to are one from then on, in the order of arrival', async (t) => {
  const given = new Given().arrive('a:X a:X a:X b:Y b:Y')
  given.turn(1)
  given.turn(1)
  t.equal(given.turn(1), 'a2 a3')
  t.same(given.deferred, ['a2', 'a3', 'b5'])
  t.equal(given.arrive('b:X').turn(), 'a3 b5 b6')
})

test('a round that a turn has no time for goes on before anything deferred, and what arrives meanwhile stands behind', async (t) => {
  const given = new Given().arrive('a:X a:X b:Y c:Z')
  given.turn(1)
  t.equal(given.turn(1), 'b3 c4 a2')
  given.arrive('d:X')
  t.equal(given.turn(1), 'c4 a2')
  t.equal(given.turn(1), 'a2')
  t.equal(given.turn(1), 'd5')
})

test('what is refused is not offered any more, and holds nothing up', async (t) => {
  const given = new Given().arrive('a:X a:X b:Y')
  given.turn(1)
  given.shares.remove(({ name }) => name.startsWith('a'))
  t.equal(given.arrive('c:X').turn(), 'b3 c4')
  t.ok(given.shares.isEmpty)
})

test('a sign of life, an ack and a sweep are never deferred', async (t) => {
  const given = new Given().arrive('a:X a:X a:X')
  given.turn(1)
  given.shares.arrived([{ command: { kind: 'ping' }, order: 10, name: 'ping' }])
  t.equal(given.turn(1), 'ping a2 a3')
})

test('commands are of one request by their time, tenant and correlator', async (t) => {
  const { command: one } = waiting(1, 'a', 'X')
  t.ok(isOneRequest(one, waiting(2, 'a', 'Y').command))
  t.notOk(isOneRequest(one, waiting(2, 'b', 'X').command))
  if (one.kind !== 'update') throw new Error('it is an update')
  t.notOk(isOneRequest(one, { ...one, time: at(2) }))
  t.notOk(isOneRequest({ kind: 'ping' }, { kind: 'ping' }))
  const raw = { kind: 'rawUpdate', sequence: one.sequence, time: one.time, tenant, path: root } as const
  t.ok(isOneRequest(one, { ...raw, body: 'X', flags: 0, origin: one.origin }))
})

/** Commands arrive, turns take some, batches are refused, until nothing waits. Gives what does not hold. */
function simulate(seed: number): string | undefined {
  const random = new Random(seed)
  const open = new Map<Waiting, { slices: number; isDeferred: boolean }>()
  const faults: string[] = []
  const shares = new TurnShares<Waiting>({
    idOf: ({ body }) => id(body),
    deferred: (each) => {
      const state = open.get(each)
      if (state === undefined || state.isDeferred) faults.push(`${each.name} is deferred twice, or when it is over`)
      else state.isDeferred = true
    },
  })
  let order = 0
  const arrive = (): void => {
    const all = Array.from({ length: 1 + random.below(6) }, () => {
      order += 1
      return waiting(order, 'abcdef'.charAt(random.below(6)), 'UVWXYZ'.charAt(random.below(6)))
    })
    for (const each of all) open.set(each, { slices: 0, isDeferred: false })
    shares.arrived(all)
  }
  const turn = (): void => {
    const offered = shares.next()
    if ((offered.length === 0) !== (open.size === 0)) faults.push('nothing is offered, or what is over')
    const count = Math.min(offered.length, 1 + random.below(4))
    const taken = offered.slice(0, count)
    const isSlice = taken.some((each) => open.get(each)?.isDeferred)
    for (const each of taken) {
      const state = open.get(each)
      if (state === undefined) faults.push(`${each.name} is offered when it is over`)
      else if (!state.isDeferred && state.slices > 1) faults.push(`${each.name} has waited for ${state.slices} slices`)
      for (const earlier of open.keys()) {
        if (earlier.order < each.order && isRelated(earlier, each))
          faults.push(`${each.name} overtakes ${earlier.name}`)
      }
      open.delete(each)
    }
    if (isSlice) for (const state of open.values()) state.slices += 1
    shares.taken(offered, count)
  }
  const refuse = (): void => {
    const gone = new Set([...open.keys()].filter(() => random.below(4) === 0))
    for (const each of gone) open.delete(each)
    shares.remove((each) => gone.has(each))
  }
  for (let step = 0; step < 60; step += 1) {
    const what = random.below(10)
    if (what < 4) arrive()
    else if (what < 9) turn()
    else refuse()
  }
  for (let turns = 0; open.size > 0 && turns < 500; turns += 1) turn()
  if (open.size > 0 || !shares.isEmpty) faults.push('something is never carried out')
  return faults[0]
}

function isRelated({ command: one }: Waiting, { command: other }: Waiting): boolean {
  return isOneRequest(one, other) || (one.kind === 'update' && other.kind === 'update' && one.id === other.id)
}

test('whatever arrives and however turns end, nothing overtakes, starves or waits for a second slice', async (t) => {
  const faults = Array.from({ length: 1000 }, (_, seed) => [seed, simulate(seed)] as const)
  t.same(
    faults.filter(([, fault]) => fault !== undefined),
    [],
  )
})
