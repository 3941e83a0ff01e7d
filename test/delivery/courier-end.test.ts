import { test } from 'tap'
import { type EndStage, endInOrder, endLook_ms, endTransition } from '../../src/delivery/queue/courier-end.js'
import { type AttemptOutcome, trouble } from '../../src/delivery/queue/outgoing.js'
import type { Attempts } from '../../src/delivery/senders/attempts.js'
import type { SubscriptionId } from '../../src/model/subscription/subscription.js'
import { Random } from '../replica/schedule.js'
import { runs } from '../runs.js'
import { nth, recipient, subscriptionId } from './given.js'
import { attemptsOf, coordinator, outboxNumbers, QueueUnderTest } from './given-queue.js'

const schedules = Number(process.env['RIGEL_COURIER_ENDS'] ?? runs(150))
const firstSeed = Number(process.env['RIGEL_SEED'] ?? 1)

const receivers = ['quick', 'quick', 'slow', 'hanging', 'failing'] as const
const disks = ['quick', 'quick', 'slow', 'refusing', 'dead'] as const
/** The courier is looked at every few steps, and a stall counts as one. */
const inexact_ms = 5 * endLook_ms
/** A broker that has ended for so long beyond its limit exits. */
const grace_ms = 2000 + inexact_ms

type Transition = typeof endTransition

/** A courier's queue, attempts and end, with receivers, disks and a clock that chance moves. */
class EndingCourier {
  readonly counts = { accepted: 0, cutOff: 0, unstored: 0, left: 0, stalls: 0, refused: 0 }
  readonly wrong: string[] = []
  readonly #random: Random
  readonly #limit_ms: number
  readonly #disk: (typeof disks)[number]
  readonly #tested: QueueUnderTest
  readonly #attempts: Attempts
  readonly #answers: { readonly due_ms: number; readonly answer: () => void }[] = []
  /** When the batch of each outbox is answered. */
  readonly #dueAcks = new Map<number, number>()
  readonly #stored = new Map<string, number>()
  readonly #made = new Map<string, 'waiting' | 'received' | 'accepted' | 'gone'>()
  readonly #ids: readonly SubscriptionId[]
  #stage: EndStage | 'running' = 'running'
  #isRead = false
  /** As the clock, without the time in which the process stood still. */
  #lived_ms = 0
  #begun = { lived_ms: 0, at_ms: 0 }
  #accepted_ms = 0
  #stored_ms = 0

  constructor(seed: number) {
    const random = new Random(seed)
    this.#random = random
    this.#limit_ms = nth([0, 500, 3000, 10_000, 30_000], random.below(5))
    this.#disk = nth(disks, random.below(disks.length))
    this.#ids = Array.from({ length: 1 + random.below(3) }, (_, number) => subscriptionId(number))
    this.#tested = new QueueUnderTest({ perReceiver: 1 + random.below(16) }, { ready: () => this.#attempts.schedule() })
    this.#attempts = this.#newAttempts()
    for (const id of this.#ids) {
      const receiver = `http://${nth(receivers, random.below(receivers.length))}-${id}.example/in`
      this.#tested.queue.put(recipient(id, receiver, { expires: Number.MAX_SAFE_INTEGER as never }))
    }
  }

  async play(transition: Transition): Promise<this> {
    this.#arrive(this.#random.below(900))
    this.#attempts.start()
    for (let step = this.#random.below(30); step > 0; step -= 1) await this.#step()
    const { clock, queue } = this.#tested
    this.#begun = { lived_ms: this.#lived_ms, at_ms: clock.steady_ms() }
    let isOver = false
    const over = endInOrder(
      {
        look: () => ({
          ...{ isRead: this.#isRead, isIdle: queue.isIdle, unstored: queue.records.unstored },
          ...{ underWay: this.#attempts.underWay, accepted: this.#attempts.accepted },
        }),
        entered: (stage) => this.#enter(stage),
        steady_ms: clock.steady_ms,
        sleep: (wait_ms) => new Promise<void>((resolve) => clock.later(wait_ms, resolve)),
      },
      this.#limit_ms,
      transition,
    ).then(() => {
      isOver = true
    })
    for (let step = 0; !isOver && step < 10_000; step += 1) await this.#step()
    await over
    this.#checkEnd()
    return this
  }

  async #step(): Promise<void> {
    const stall_ms = this.#random.chance(0.002) ? 5000 : 0
    if (stall_ms > 0) this.counts.stalls += 1
    const step_ms = 1 + this.#random.below(endLook_ms)
    this.#lived_ms += step_ms
    const { clock } = this.#tested
    // After a stall, timers are served before what has arrived meanwhile.
    clock.advance(step_ms + stall_ms)
    await new Promise(setImmediate)
    const now_ms = clock.steady_ms()
    for (const each of this.#answers.splice(0)) {
      if (each.due_ms + stall_ms <= now_ms) each.answer()
      else this.#answers.push(each)
    }
    for (const outbox of outboxNumbers) this.#store(outbox, now_ms)
    if (!this.#isRead && this.#random.chance(0.1)) {
      this.#arrive(this.#random.below(100))
      this.#isRead = this.#random.chance(0.5)
    }
    await new Promise(setImmediate)
  }

  #arrive(notices: number): void {
    for (let count = 0; count < notices; count += 1) {
      const id = nth(this.#ids, this.#random.below(this.#ids.length))
      const outbox = this.#random.below(coordinator)
      const key = String(this.#random.below(200))
      const { number } = this.#tested.arrive(outbox, { subscription: id, orderingKey: { kind: 'entity', key } })
      this.#made.set(`${outbox}-${number}`, 'waiting')
    }
  }

  #store(outbox: number, now_ms: number): void {
    const acks = this.#tested.offered(outbox)
    if (acks === undefined || this.#disk === 'dead') return
    const due_ms = this.#dueAcks.get(outbox)
    if (due_ms === undefined) {
      this.#dueAcks.set(
        outbox,
        now_ms + (this.#disk === 'slow' ? 200 + this.#random.below(1500) : this.#random.below(30)),
      )
    } else if (due_ms <= now_ms) {
      this.#dueAcks.delete(outbox)
      if (this.#disk === 'refusing' && this.#random.chance(0.7)) {
        this.counts.refused += 1
        this.#tested.refuseAck(outbox)
        return
      }
      this.#stored_ms = this.#lived_ms
      for (const { subscription, gone, stats } of acks) {
        const key = `${outbox} ${subscription}`
        const sum = (this.#stored.get(key) ?? 0) + gone.length
        this.#stored.set(key, sum)
        for (const number of gone) this.#made.set(`${outbox}-${number}`, 'gone')
        if (stats !== undefined && stats.sent - stats.tried.length !== sum)
          this.wrong.push('stats count what is sent again')
      }
      this.#tested.endAck(outbox)
    }
  }

  #enter(stage: EndStage): void {
    this.#stage = stage
    if (stage === 'sending') return
    this.#isRead = true
    if (stage === 'finishing') this.#attempts.finish()
    else if (stage === 'storing') {
      if (this.#attempts.underWay > 0) this.#checkCutOff()
      this.#attempts.close()
      void this.#tested.queue.records.flush()
    } else this.#tested.queue.records.close()
  }

  get #passed_ms(): number {
    return this.#tested.clock.steady_ms() - this.#begun.at_ms
  }

  #checkCutOff(): void {
    this.counts.cutOff += this.#attempts.underWay
    const quiet_ms = this.#lived_ms - Math.max(this.#accepted_ms, this.#begun.lived_ms)
    const isLate = this.#passed_ms >= this.#limit_ms - Math.min(this.#limit_ms / 4, 2000)
    if (!isLate && quiet_ms < 1000 - inexact_ms)
      this.wrong.push(`attempts are cut off ${quiet_ms} ms after one was accepted`)
    if (quiet_ms > 1000 + inexact_ms) this.wrong.push(`receivers that accept nothing are waited for ${quiet_ms} ms`)
  }

  #checkEnd(): void {
    const passed_ms = this.#passed_ms
    const stalled_ms = passed_ms - (this.#lived_ms - this.#begun.lived_ms)
    if (passed_ms > this.#limit_ms + grace_ms + stalled_ms)
      this.wrong.push(`it takes ${passed_ms} of ${this.#limit_ms} ms`)
    const states = [...this.#made.values()]
    const unstored = states.filter((state) => state === 'accepted').length
    this.counts.unstored += unstored
    this.counts.left += states.filter((state) => state === 'waiting').length
    const isStuck = this.#lived_ms - Math.max(this.#stored_ms, this.#begun.lived_ms) >= 5000 - inexact_ms
    if (unstored > 0 && !isStuck && passed_ms < this.#limit_ms)
      this.wrong.push(`${unstored} known outcomes are not stored`)
  }

  #send(name: string, receiver: string): Promise<AttemptOutcome> {
    const { clock } = this.#tested
    if (this.#stage !== 'running' && this.#stage !== 'sending')
      this.wrong.push(`an attempt is begun while ${this.#stage}`)
    if (this.#stage === 'sending' && this.#lived_ms - this.#begun.lived_ms > 2000 + inexact_ms) {
      this.wrong.push('an attempt is begun after two seconds')
    }
    this.#made.set(name, 'received')
    const [kind] = receiver.slice('http://'.length).split('-')
    return new Promise((resolve) => {
      if (kind === 'hanging') return
      const wait_ms = kind === 'slow' ? 300 + this.#random.below(2500) : this.#random.below(20)
      const answer = (): void => {
        if (kind === 'failing') {
          resolve(trouble('503'))
          return
        }
        if (this.#stage !== 'storing' && this.#stage !== 'over') {
          this.counts.accepted += 1
          this.#accepted_ms = this.#lived_ms
          this.#made.set(name, 'accepted')
        }
        resolve({ kind: 'accepted', status: 200 })
      }
      this.#answers.push({ due_ms: clock.steady_ms() + wait_ms, answer })
    })
  }

  #newAttempts(): Attempts {
    return attemptsOf(this.#tested.queue, nth(this.#ids, 0), ({ url, headers }) => {
      const [, outbox, number] = (headers[headers.indexOf('Rigel-Notification-Id') + 1] ?? '').split('-')
      return this.#send(`${outbox}-${number}`, url)
    })
  }
}

/** The rules of the end with a fault in them: what each makes of the state and stage that the rules give. */
const faulty: Readonly<Record<string, Transition>> = {
  'outcomes have two seconds to be stored': (state, look, limit_ms) => {
    const next = endTransition(state, look, limit_ms)
    return next.stage === 'storing' && next.spent_ms >= 2000 ? { ...next, stage: 'over' } : next
  },
  'attempts are begun to the end': (state, look, limit_ms) => {
    const next = endTransition(state, look, limit_ms)
    return next.stage === 'finishing' ? { ...next, stage: 'sending' } : next
  },
  'what is under way is not waited for': (state, look, limit_ms) => {
    const next = endTransition(state, look, limit_ms)
    return next.stage === 'finishing' ? { ...next, stage: 'storing' } : next
  },
  'time in which the process stood still counts': (state, look, limit_ms) =>
    endTransition(
      { ...state, quiet_ms: state.quiet_ms + Math.max(0, look.passed_ms - 2 * endLook_ms) },
      look,
      limit_ms,
    ),
  'what is not on disk is not looked at': (state, look, limit_ms) =>
    endTransition(state, { ...look, unstored: 0 }, limit_ms),
  'receivers that accept nothing are waited for': (state, look, limit_ms) =>
    endTransition(state.stage === 'storing' ? state : { ...state, quiet_ms: 0 }, look, limit_ms),
}

test(`in ${schedules} schedules an orderly end stores every outcome that it knows, and cuts off nothing that comes`, async (t) => {
  const sums = { accepted: 0, cutOff: 0, unstored: 0, left: 0, stalls: 0, refused: 0 }
  for (let seed = firstSeed; seed < firstSeed + schedules; seed += 1) {
    const { wrong, counts } = await new EndingCourier(seed).play(endTransition)
    if (wrong.length > 0) throw new Error(`RIGEL_SEED=${seed}: ${wrong[0]}`)
    for (const name of ['accepted', 'cutOff', 'unstored', 'left', 'stalls', 'refused'] as const)
      sums[name] += counts[name]
  }
  t.comment(JSON.stringify(sums))
  for (const [name, times] of Object.entries(sums)) t.ok(times > 0, name)
})

for (const [fault, transition] of Object.entries(faulty)) {
  test(`the schedules find it when ${fault}`, async (t) => {
    let found: number | undefined
    for (let seed = 1; seed < 300 && found === undefined; seed += 1) {
      if ((await new EndingCourier(seed).play(transition)).wrong.length > 0) found = seed
    }
    t.not(found, undefined)
    t.comment(`found by seed ${found}`)
  })
}
