import { EventEmitter } from 'node:events'
import fc from 'fast-check'
import { test } from 'tap'
import { Outboxes } from '../../src/delivery/queue/outboxes.js'
import type { StreamInstruction, StreamReport } from '../../src/delivery/streams/stream-message.js'
import { idOfPosition, positionOfId } from '../../src/delivery/streams/stream-position.js'
import { Streams } from '../../src/delivery/streams/streams.js'
import type { SubscriptionId } from '../../src/model/subscription/subscription.js'
import { LineLog } from '../../src/observe/log/log.js'
import { ok } from '../../src/result.js'
import { Switches } from '../../src/threads/shared-memory/switches.js'
import { never } from '../../src/time.js'
import { runs } from '../runs.js'
import { notice, recipient, subscriptionId } from './given.js'
import { coordinator, QueueUnderTest } from './given-queue.js'

const id = subscriptionId(1)

interface Event {
  readonly id: string
  /** Outbox and number. */
  readonly name: string
  readonly key: string
}

/** A front end whose clients take what they are told to. */
class FrontEnd extends EventEmitter {
  readonly clients = new Map<number, Client>()
  readonly replies: StreamReport[] = []

  postMessage(report: StreamReport): void {
    this.replies.push(report)
    if (report.kind === 'events') this.clients.get(report.stream)?.arrive(report.text, report.notices)
    if (report.kind === 'ended') this.clients.get(report.stream)?.end(report.why)
  }

  close(): void {
    this.emit('close')
  }

  send(instruction: StreamInstruction): void {
    this.emit('message', instruction)
  }
}

class Client {
  readonly number: number
  readonly group: string | undefined
  readonly events: Event[] = []
  ended: string | undefined
  readonly #front: FrontEnd
  /** The notices of the messages that it has not taken. */
  readonly #untaken: number[] = []

  constructor(front: FrontEnd, number: number, group: string | undefined) {
    this.#front = front
    this.number = number
    this.group = group
    front.clients.set(number, this)
  }

  arrive(text: string, notices: number): void {
    this.#untaken.push(notices)
    for (const event of text.split('\n\n').slice(0, -1)) {
      const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(event)?.[1] ?? ''
      const name = field('Rigel-Notification-Id').split('-').slice(1).join('-')
      this.events.push({ id: field('id'), name, key: field('data') })
    }
  }

  end(why: string): void {
    this.ended = why
    this.#front.clients.delete(this.number)
  }

  take(): boolean {
    const notices = this.#untaken.shift()
    if (notices === undefined || this.ended !== undefined) return false
    this.#front.send({ kind: 'took', stream: this.number, notices })
    return true
  }

  close(): void {
    if (this.ended === undefined) this.#front.send({ kind: 'closed', stream: this.number })
    this.end('closed')
  }
}

interface Limits {
  readonly listeners: number
  readonly kept_ms: number
  readonly kept: number
  readonly kept_bytes: number
}

/** The streams of one courier with its queue. */
class StreamsUnderTest {
  readonly front = new FrontEnd()
  readonly streams: Streams
  readonly tested: QueueUnderTest
  readonly keys = new Map<string, string>()
  listening = 0
  #numbers = 0

  constructor(limits: Partial<Limits> = {}) {
    this.tested = new QueueUnderTest({}, { streamReady: (ready) => this.streams.ready(ready) })
    const { queue, clock, known } = this.tested
    const switches = new Switches()
    this.streams = new Streams({
      ...{ queue, clock, known: (outbox) => known[outbox] ?? 0, large_bytes: 2 ** 20 },
      limits: { listeners: 10, kept_ms: 1e9, kept: 1e6, kept_bytes: 1e9, ...limits },
      outboxes: new Outboxes(
        [0, 1, coordinator].map((outbox) => ({
          refresh: () => undefined,
          first: () => undefined,
          last: () => known[outbox] ?? 0,
          after: () => [],
          before: () => [],
          head: () => undefined,
          holds: () => false,
          at: (number) => notice(id, 'any', this.keys.get(`${outbox}-${number}`) ?? ''),
          stats: () => [],
          statsOf: () => undefined,
          ack: async () => true,
          close: async () => undefined,
        })),
      ),
      ...{ render: () => '', body: () => ok('') },
      count: () => undefined,
      sent: () => undefined,
      log: new LineLog(switches, () => undefined),
      switches,
      transaction: () => '1',
      brokerId: '0011223344556677',
      maxSize: 1e6,
      meter: { attempted: () => undefined, listening: (streams) => (this.listening = streams) },
    })
    this.streams.connect(this.front)
    queue.put(recipient(id, 'sse:', { expires: never }))
  }

  arrive(outbox: number, key: string, size_bytes = 100): void {
    const { number } = this.tested.arrive(outbox, {
      subscription: id,
      orderingKey: { kind: 'entity', key },
      size_bytes,
    })
    this.keys.set(`${outbox}-${number}`, key)
  }

  open(group?: string, after?: string, isExplicit = false): Client {
    this.#numbers += 1
    const client = new Client(this.front, this.#numbers, group)
    const position = after === undefined ? undefined : positionOfId(after)
    this.front.send({ kind: 'open', stream: client.number, subscription: id, after: position, group, isExplicit })
    return client
  }

  confirm(upTo: string, subscription: SubscriptionId = id): void {
    const position = positionOfId(upTo)
    if (position === undefined) throw new Error(`${upTo} is no position`)
    this.front.send({ kind: 'confirm', number: 0, subscription, upTo: position })
  }

  /** The notices that have left their outboxes. */
  get left(): ReadonlySet<string> {
    return this.tested.ackAll()
  }
}

/** Takes all that comes. */
async function takeAll(client: Client): Promise<void> {
  while (client.take()) await microtasksOver()
}

/** What was begun in microtasks is over. */
function microtasksOver(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

type Step =
  | { readonly kind: 'arrive'; readonly outbox: 0 | 1; readonly key: number }
  | { readonly kind: 'open'; readonly isMember: boolean; readonly resumes: number }
  | { readonly kind: 'take' | 'close'; readonly client: number }
  | { readonly kind: 'confirm'; readonly client: number; readonly event: number }

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('arrive' as const),
      outbox: fc.constantFrom(0 as const, 1 as const),
      key: fc.nat(3),
    }),
  },
  fc.record({
    kind: fc.constant('open' as const),
    isMember: fc.constantFrom(true, true, true, false),
    resumes: fc.nat(20),
  }),
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('take' as const), client: fc.nat(9) }) },
  fc.record({ kind: fc.constant('close' as const), client: fc.nat(9) }),
  fc.record({ kind: fc.constant('confirm' as const), client: fc.nat(9), event: fc.nat(20) }),
)

/** The number in the name of a notice. */
function numberOf(name: string): number {
  return Number(name.split('-')[1])
}

/** Throws unless the notices of each key come in order, whatever came before the client was there. */
function checkOrder({ events }: Client): void {
  const last = new Map<string, number>()
  for (const { name, key } of events) {
    const place = `${name.split('-')[0]} ${key}`
    if ((last.get(place) ?? 0) >= numberOf(name)) throw new Error(`${name} of ${key} came after ${last.get(place)}`)
    last.set(place, numberOf(name))
  }
}

test('whatever clients do, a notice leaves only when one that got it has said so, and each key is in order', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const under = new StreamsUnderTest()
      const all: Client[] = []
      const confirmed = new Set<string>()
      let arrived = 0
      const confirm = (client: Client | undefined, which: number): string | undefined => {
        if (client === undefined || client.events.length === 0) return undefined
        const event = which % client.events.length
        for (const { name } of client.events.slice(0, event + 1)) confirmed.add(name)
        return client.events[event]?.id
      }
      for (const step of steps) {
        if (step.kind === 'arrive') {
          under.arrive(step.outbox, `${step.outbox} ${step.key}`)
          arrived += 1
        } else if (step.kind === 'open') {
          const group = step.isMember ? 'shift' : undefined
          const before = all.findLast((client) => client.group === group && client.events.length > 0)
          all.push(under.open(group, confirm(before, step.resumes)))
        } else {
          const client = all[step.client % Math.max(1, all.length)]
          if (step.kind === 'take') client?.take()
          else if (step.kind === 'close') client?.close()
          else if (step.kind === 'confirm') {
            const upTo = confirm(client, step.event)
            if (upTo !== undefined) under.confirm(upTo)
          }
        }
        await microtasksOver()
        for (const client of all) checkOrder(client)
        for (const name of under.left) if (!confirmed.has(name)) throw new Error(`${name} has left and nobody has it`)
      }
      const last = under.open()
      await microtasksOver()
      await takeAll(last)
      checkOrder(last)
      const lost = [...under.keys.keys()].filter(
        (name) => !under.left.has(name) && !last.events.some((event) => event.name === name),
      )
      if (lost.length > 0) throw new Error(`${lost} were lost`)
      const end = last.events.at(-1)
      if (end !== undefined) under.confirm(end.id)
      if (under.left.size !== arrived) throw new Error(`${arrived - under.left.size} stay although all were confirmed`)
    }),
    { numRuns: runs(500) },
  )
  t.pass()
})

test('what was sent for long enough counts as arrived, on a stream that is read', async (t) => {
  const under = new StreamsUnderTest({ kept_ms: 1000 })
  const client = under.open()
  for (let n = 0; n < 5; n += 1) under.arrive(0, `${n}`)
  await microtasksOver()
  t.equal(client.events.length, 5)
  under.tested.clock.advance(2000)
  under.streams.sweep()
  t.equal(under.left.size, 0, 'nobody has taken them')
  await takeAll(client)
  under.tested.clock.advance(999)
  under.streams.sweep()
  t.equal(under.left.size, 0)
  under.tested.clock.advance(1)
  under.streams.sweep()
  t.equal(under.left.size, 5)
})

test('while a client does not take what is next, nothing before it counts as arrived', async (t) => {
  const under = new StreamsUnderTest({ kept_ms: 1000 })
  const client = under.open()
  under.arrive(0, 'a')
  await microtasksOver()
  client.take()
  under.arrive(0, 'b')
  await microtasksOver()
  under.tested.clock.advance(6000)
  under.streams.sweep()
  t.equal(under.left.size, 0)
  client.take()
  t.equal(under.left.size, 1, 'it goes on')
})

test('no more is kept than may be; with explicit confirmation no more is sent', async (t) => {
  const under = new StreamsUnderTest({ kept: 10 })
  const client = under.open()
  for (let n = 0; n < 25; n += 1) under.arrive(0, `${n}`)
  await microtasksOver()
  await takeAll(client)
  t.equal(under.left.size, 15)
  const explicit = new StreamsUnderTest({ kept: 10 })
  const confirming = explicit.open(undefined, undefined, true)
  for (let n = 0; n < 25; n += 1) explicit.arrive(0, `${n}`)
  await microtasksOver()
  await takeAll(confirming)
  t.same([explicit.left.size, confirming.events.length], [0, 10])
  explicit.confirm(confirming.events[4]?.id ?? '')
  await microtasksOver()
  t.same([explicit.left.size, confirming.events.length], [5, 15])
})

test('what may be on the way to a client that takes nothing is bounded', async (t) => {
  const under = new StreamsUnderTest()
  const client = under.open()
  for (let n = 0; n < 1000; n += 1) under.arrive(0, `${n % 7}`)
  await microtasksOver()
  t.equal(client.events.length, 256)
  await takeAll(client)
  t.equal(client.events.length, 1000)
})

test('a client that takes too little of a large notice is cut off while another one waits for the room', async (t) => {
  const under = new StreamsUnderTest()
  const clients = [under.open('g'), under.open('g')]
  const [slow, other] = clients
  under.arrive(0, 'a', 900_000)
  await microtasksOver()
  under.tested.clock.advance(60_000)
  under.streams.sweep()
  t.equal(slow?.ended, undefined, 'nobody waits')
  under.arrive(0, 'b', 900_000)
  await microtasksOver()
  t.same(
    clients.map(({ events }) => events.length),
    [1, 0],
  )
  under.streams.sweep()
  await microtasksOver()
  t.equal(slow?.ended, 'slow')
  t.equal(other?.ended, undefined)
  if (other !== undefined) await takeAll(other)
  t.same(other?.events.map(({ key }) => key).toSorted(), ['a', 'b'], 'nothing is lost')
})

test('an entity stays with its client of a group, and the others get their share', async (t) => {
  const under = new StreamsUnderTest()
  const members = [under.open('g'), under.open('g'), under.open('g')]
  t.equal(under.listening, 3)
  for (let n = 0; n < 300; n += 1) under.arrive(n % 2, `${n % 2} ${n % 30}`)
  await microtasksOver()
  for (const member of members) await takeAll(member)
  const keys = members.map(({ events }) => new Set(events.map(({ key }) => key)))
  t.equal(
    keys.reduce((sum, { size }) => sum + size, 0),
    30,
    'each entity has one client',
  )
  for (const { size } of keys) t.ok(size >= 9 && size <= 11)
})

test('what has not been sent cannot be confirmed, by whatever id', async (t) => {
  for (const group of [undefined, 'g']) {
    const under = new StreamsUnderTest()
    const client = under.open(group)
    under.arrive(0, 'a')
    await microtasksOver()
    const [event] = client.events
    under.confirm(event?.id.replace(/\.0-1$/, '.0-99').replace(/_\d+\./, '_99.') ?? '')
    under.arrive(0, 'b')
    await microtasksOver()
    await takeAll(client)
    t.equal(under.left.size, 0)
    under.confirm(client.events[1]?.id ?? '')
    t.equal(under.left.size, 2)
  }
})

test('a notice that is about several entities goes between those before it and those after it, again and again', async (t) => {
  const under = new StreamsUnderTest()
  const barrier = { subscription: id, orderingKey: { kind: 'initial' as const }, after: [1, 0] }
  for (let round = 0; round < 3; round += 1) {
    const client = under.open()
    if (round === 0) {
      under.tested.arrive(coordinator, barrier)
      await microtasksOver()
      t.same(client.events, [], 'what was made before it has not arrived')
      under.arrive(0, 'a')
      under.arrive(0, 'a')
      under.arrive(1, 'b')
      under.tested.queue.check()
    }
    await microtasksOver()
    await takeAll(client)
    t.same(
      client.events.map(({ name }) => name),
      ['0-1', '2-1', '0-2', '1-1'],
    )
    client.close()
  }
})

test('ids are read as they are written, and nothing else is one', async (t) => {
  const ofGroup = fc.option(
    fc
      .array(fc.tuple(fc.stringMatching(/^[\da-z]{1,24}$/), fc.nat(1e9)), { minLength: 1, maxLength: 16 })
      .map((streams) => new Map(streams)),
    { nil: undefined },
  )
  const sent = fc.uniqueArray(fc.tuple(fc.nat(999), fc.integer({ min: 1, max: 1e14 })), {
    minLength: 1,
    maxLength: 20,
    selector: ([outbox]) => outbox,
  })
  fc.assert(
    fc.property(fc.stringMatching(/^[\da-f]{8}$/), ofGroup, sent, (tag, group, numbers) => {
      const position = { tag, ofGroup: group, sent: new Map(numbers) }
      const own = numbers[0]?.[0] ?? 0
      t.same(positionOfId(idOfPosition(position, own)), position)
    }),
    { numRuns: runs(100) },
  )
  fc.assert(fc.property(fc.string(), (text) => positionOfId(text) === undefined))
})
