import fc from 'fast-check'
import { test } from 'tap'
import { type CallOutcome, type CallRefusal, OpenCalls } from '../../src/threads/calls/calls.js'
import { runs } from '../runs.js'

/** What happens to questions; those of a number may be of one that was never asked, or has ended. */
type CallEvent =
  | { readonly kind: 'ask'; readonly hasLimit: boolean }
  | { readonly kind: 'ask in vain' | 'passed' }
  | { readonly kind: 'answered' | 'unread' | 'late'; readonly number: number }
  | { readonly kind: 'responseUnreadable' | 'gone' | 'replaced' }

const number = fc.integer({ min: 1, max: 12 })
const event: fc.Arbitrary<CallEvent> = fc.oneof(
  { weight: 6, arbitrary: fc.boolean().map((hasLimit): CallEvent => ({ kind: 'ask', hasLimit })) },
  { weight: 1, arbitrary: fc.constant<CallEvent>({ kind: 'ask in vain' }) },
  { weight: 1, arbitrary: fc.constant<CallEvent>({ kind: 'passed' }) },
  {
    weight: 6,
    arbitrary: fc
      .tuple(number, fc.constantFrom('answered', 'answered', 'unread', 'late'))
      .map(([at, kind]): CallEvent => ({ kind, number: at })),
  },
  {
    weight: 3,
    arbitrary: fc.constantFrom('responseUnreadable', 'gone', 'replaced').map((kind): CallEvent => ({ kind })),
  },
)

/** The class of the program beside a set of the numbers that are open, which is all that it has to know. */
class CallModel {
  readonly #limits = new Map<number, () => void>()
  readonly #sent: number[] = []
  readonly #open = new Set<number>()
  #isGone = false
  readonly #expected: (string | undefined)[] = []
  readonly #outcomes: Promise<string>[] = []
  /** By number the place of a question among the expected outcomes. */
  readonly #places = new Map<number, number>()
  #starting: number | undefined
  readonly #calls = new OpenCalls<string>((_, over) => {
    const number = this.#starting
    if (number === undefined) throw new Error('a clock is started for no question')
    this.#limits.set(number, over)
    return () => this.#limits.delete(number)
  })

  take(event: CallEvent): void {
    if (event.kind === 'ask') this.#ask(event.hasLimit)
    else if (event.kind === 'ask in vain') this.#askInVain()
    else if (event.kind === 'passed') {
      this.#calls.passed()
      this.#sent.push(this.#sent.length + 1)
    } else if (event.kind === 'answered') {
      const isAwaited = this.#calls.answered(event.number, `response ${event.number}`)
      if (isAwaited !== this.#open.has(event.number)) throw new Error(`nobody knows who waits for ${event.number}`)
      this.#end(event.number, `response ${event.number}`)
    } else if (event.kind === 'unread') {
      this.#calls.unread(event.number)
      this.#end(event.number, 'unreadable')
    } else if (event.kind === 'late') {
      const over = this.#limits.get(event.number)
      if (over === undefined) return
      over()
      this.#end(event.number, 'late')
    } else this.#takeOfAll(event.kind)
  }

  /** Every question has the outcome that is expected of it, and nothing is left of any. */
  async finish(): Promise<void> {
    this.take({ kind: 'gone' })
    if (this.#limits.size > 0) throw new Error('the clock of a question runs on that has ended')
    const outcomes = await Promise.all(this.#outcomes)
    for (const [place, expected] of this.#expected.entries()) {
      if (outcomes[place] !== expected) throw new Error(`${outcomes[place]} in the place of ${expected}`)
    }
    if (this.#sent.some((number, at) => number !== at + 1)) throw new Error('numbers do not count what was sent')
  }

  #takeOfAll(kind: 'responseUnreadable' | 'gone' | 'replaced'): void {
    this.#calls[kind]()
    if (kind !== 'responseUnreadable') this.#isGone = kind === 'gone'
    if (kind !== 'replaced') for (const number of [...this.#open]) this.#end(number, refusalOf(kind))
  }

  #ask(hasLimit: boolean): void {
    const before = this.#sent.length
    this.#starting = before + 1
    const request = this.#calls.ask((number) => this.#sent.push(number), hasLimit ? 1 : undefined)
    const place = this.#outcomes.push(request.then(textOf)) - 1
    if (this.#isGone) {
      if (this.#sent.length > before) throw new Error('sent to nobody')
      this.#expected[place] = 'gone'
      return
    }
    if (this.#sent.length !== before + 1) throw new Error('not sent at once')
    this.#open.add(before + 1)
    this.#places.set(before + 1, place)
  }

  #askInVain(): void {
    this.#starting = this.#sent.length + 1
    const request = this.#calls.ask((number) => {
      this.#sent.push(number)
      throw new Error('cannot be sent')
    }, 1)
    this.#expected[this.#outcomes.push(request.then(textOf, String)) - 1] = this.#isGone
      ? 'gone'
      : 'Error: cannot be sent'
  }

  #end(number: number, outcome: string): void {
    const place = this.#places.get(number)
    if (!this.#open.delete(number) || place === undefined) return
    this.#expected[place] = outcome
  }
}

function refusalOf(kind: 'responseUnreadable' | 'gone'): CallRefusal {
  return kind === 'gone' ? 'gone' : 'unreadable'
}

function textOf(outcome: CallOutcome<string>): string {
  return outcome.ok ? outcome.value : outcome.error
}

test('every question has one outcome, which is its own, and none is left when the far end is gone', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(event, { maxLength: 40 }), async (events) => {
      const model = new CallModel()
      for (const happened of events) model.take(happened)
      await model.finish()
    }),
    { numRuns: runs(2000) },
  )
})

test('a response that cannot be read refuses all questions that are open; a later response to one of them means nothing', async (t) => {
  const calls = new OpenCalls<string>()
  const requests = [calls.ask(() => {}, undefined), calls.ask(() => {}, 60_000)]
  calls.responseUnreadable()
  t.same(await Promise.all(requests), [
    { ok: false, error: 'unreadable' },
    { ok: false, error: 'unreadable' },
  ])
  t.notOk(calls.answered(2, 'late'))
})

test('a question costs the same however many are open', async (t) => {
  const took = async (open: number): Promise<number> => {
    const calls = new OpenCalls<number>()
    const request = Array.from({ length: open }, () => calls.ask(() => {}, undefined))
    const before = process.cpuUsage().user
    for (let number = open + 1; number <= open + 2000; number += 1) {
      request.push(calls.ask(() => {}, undefined))
      calls.answered(number, number)
    }
    const user = process.cpuUsage().user - before
    calls.gone()
    await Promise.all(request)
    return user
  }
  await took(10) // Until the code is compiled.
  const few = await took(10)
  // A copy of all that is open for each question took some hundred times as long.
  t.ok((await took(5000)) < 30 * (few + 2000), 'and no more than that')
})
