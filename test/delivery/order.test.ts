import assert from 'node:assert/strict'
import { join } from 'node:path'
import fc from 'fast-check'
import { test } from 'tap'
import type { Outbox, OutboxOwner } from '../../src/delivery/queue/outboxes.js'
import type { Notice } from '../../src/model/subscription/notice.js'
import { FarEnd } from '../far-end.js'
import { areAll, runs } from '../runs.js'
import { until } from '../until.js'
import { courier, notice, nth, OwnedOutbox, outboxes, recipient, subscriptionId } from './given.js'

/** What is made: a change of an entity in a partition, or an initial notification after all that was made before. */
const making = fc.oneof(
  { weight: 6, arbitrary: fc.record({ subscription: fc.nat(1), partition: fc.nat(1), entity: fc.nat(2) }) },
  { weight: 1, arbitrary: fc.record({ subscription: fc.nat(1) }) },
)
const steps = fc.array(
  fc.oneof({ weight: 8, arbitrary: making }, { weight: 1, arbitrary: fc.constant('ring' as const) }),
  {
    minLength: 5,
    maxLength: 60,
  },
)
/** What the receiver does with the requests that come, in turn; in the end it accepts. */
const moods = fc.array(fc.constantFrom('accept', 'accept', 'trouble', 'refuse', 'break', 'late'), { maxLength: 40 })

test('whatever receivers do, nothing is lost, lines arrive in order, and initial notifications part early from late', async (t) => {
  const folder = t.testdir()
  let played = 0
  await fc.assert(
    fc.asyncProperty(steps, moods, fc.boolean(), async (taken, behaviour, restarts) => {
      const ids = [subscriptionId(1), subscriptionId(2)]
      const left = [...behaviour]
      const accepted: string[] = []
      const end = await FarEnd.listen(t, ({ body, socket }, response) => {
        const mood = left.shift() ?? 'accept'
        if (mood === 'break') socket.destroy()
        else if (mood === 'trouble') response.writeHead(500).end()
        else if (mood === 'refuse') response.writeHead(404).end()
        else {
          accepted.push(body)
          if (mood === 'late') setTimeout(() => response.end(), 3)
          else response.end()
        }
      })
      played += 1
      const boxes = outboxes(t, 2, join(folder, String(played)))
      const given = {
        ...{ outboxes: boxes, recipients: ids.map((id) => recipient(id, end.url())) },
        settings: { retryMin_ms: 1, retryMax_ms: 4, perReceiver: 3 },
      }
      let running = courier(t, given)
      await running.start()
      const made: Notice[] = []
      for (const step of taken) {
        if (step === 'ring') {
          running.ring()
          await new Promise(setImmediate)
          continue
        }
        const id = nth(ids, step.subscription)
        const body = (what: string) => `${id} ${what} ${made.length}`
        if ('partition' in step) {
          const line = `${step.partition}-${step.entity}`
          made.push(notice(id, line, body(line)))
          nth(boxes.partitions, step.partition).enqueue(nth(made, made.length - 1))
        } else {
          made.push(
            notice(id, { kind: 'initial' }, body('initial'), { after: boxes.partitions.map(({ last }) => last) }),
          )
          boxes.metadata.enqueue(nth(made, made.length - 1))
        }
      }
      if (restarts) {
        await running.drain(0)
        running = courier(t, given)
        await running.start()
      }
      running.ring()
      await until(() => [...boxes.partitions, boxes.metadata].every(({ numbers }) => numbers.length === 0))
      await running.drain(0)
      await end.close()
      // At least once: a repetition is one of something that came before.
      const arrived = [...new Set(accepted)]
      assert.deepEqual([...arrived].sort(), made.map(({ body }) => body).sort())
      const order = (of: string, line: (words: readonly string[]) => boolean) =>
        arrived.map((body) => body.split(' ')).filter((words) => words[0] === of && line(words))
      for (const id of ids) {
        for (const line of ['0-0', '0-1', '0-2', '1-0', '1-1', '1-2', 'initial'])
          assert(rising(order(id, (words) => words[1] === line)), `${line} of ${id}: ${arrived}`)
        for (const [, , number] of order(id, (words) => words[1] === 'initial')) {
          const later = order(id, () => true).map((words) => Number(words[2]) > Number(number) || words[2] === number)
          assert(
            !later.some((isLater, at) => isLater && later[at + 1] === false),
            `what is older than ${number} comes first: ${arrived}`,
          )
        }
      }
    }),
    { numRuns: runs(25) },
  )
})

function rising(bodies: readonly (readonly string[])[]): boolean {
  return bodies.every(([, , number], at) => at === 0 || Number(number) > Number(bodies[at - 1]?.[2]))
}

/** An outbox that tells of each read before it is done. */
class WatchedOutbox extends OwnedOutbox {
  /** Whether what was made by then is read, as where the last notices are in a memtable, or what the snapshot of the first read has. */
  isLive = true
  onRead = (): void => {}
  #snapshot: number | undefined

  override opened(owner?: OutboxOwner): Outbox {
    const outbox = super.opened(owner)
    const told = <Args extends readonly unknown[], Read>(read: (...args: Args) => Read) => {
      return (...args: Args): Read => {
        this.onRead()
        outbox.refresh()
        this.#snapshot ??= this.last
        return read(...args)
      }
    }
    const last = () => (this.isLive ? this.last : (this.#snapshot ?? this.last))
    return {
      ...outbox,
      refresh: () => {
        this.#snapshot = undefined
      },
      last: told(last),
      after: told((number, limit) => outbox.after(number, limit).filter((found) => found.number <= last())),
      first: told(outbox.first),
      stats: told(outbox.stats),
    }
  }
}

test('an initial notification goes before what was made after it, at whatever moment of the reading both are made', async (t) => {
  const id = subscriptionId(1)
  const accepted: string[] = []
  const end = await FarEnd.listen(t, ({ body }, response) => {
    accepted.push(body)
    response.end()
  })
  const folder = t.testdir()
  const here = { epoch: 1, isConfirmed: () => true }
  const elsewhere = { epoch: 0, isConfirmed: () => false }
  const play = async (moment: number, isLive: boolean, owner: OutboxOwner): Promise<void> => {
    accepted.length = 0
    const path = join(folder, [moment, isLive, owner.epoch].join('-'))
    const [partition, metadata] = [new WatchedOutbox(join(path, 'partition')), new WatchedOutbox(join(path, 'control'))]
    metadata.isLive = isLive
    partition.enqueue(notice(id, 'one', 'older'))
    let reads = 0
    const onRead = (): void => {
      reads += 1
      if (reads !== moment) return
      metadata.enqueue(notice(id, { kind: 'initial' }, 'initial', { after: [partition.last] }))
      partition.enqueue(notice(id, 'two', 'newer'))
    }
    const running = courier(t, {
      ...{ outboxes: { partitions: [partition], metadata }, recipients: [recipient(id, end.url())] },
      owners: [here, owner],
    })
    for (const outbox of [partition, metadata]) outbox.onRead = onRead
    await running.start()
    const untilRead = (isDone: () => boolean | Promise<boolean>) =>
      until(() => {
        running.ring()
        return reads > moment && isDone()
      })
    if (owner === elsewhere) {
      await untilRead(async () => accepted.length > 0 && (await running.state(id))?.queueDepth === 1)
      t.same(accepted, ['older'], `another node sends it, made before read ${moment}`)
      metadata.store([{ subscription: id, gone: [1], stats: undefined }])
    }
    await untilRead(() => partition.numbers.length === 0)
    await running.drain()
    t.same(accepted, owner === here ? ['older', 'initial', 'newer'] : ['older', 'newer'], `made before read ${moment}`)
    for (const outbox of [partition, metadata]) await outbox.close()
  }
  const moments = areAll ? 25 : 14
  for (let moment = 1; moment <= moments; moment += 1)
    for (const isLive of [true, false]) for (const owner of [here, elsewhere]) await play(moment, isLive, owner)
})
