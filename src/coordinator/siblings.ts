import { BroadcastChannel, type MessagePort } from 'node:worker_threads'

/** What a front end can be asked for by the others; every front end answers the same questions. */
export type Answers = Readonly<Record<string, (ask: unknown) => unknown>>

type Letter =
  | { readonly kind: 'ask'; readonly from: number; readonly question: number; readonly what: string; readonly ask: unknown }
  | { readonly kind: 'answer'; readonly to: number; readonly question: number; readonly value: unknown }

/** Front ends answer within this time or are left out [management 5.5]. */
const limit_ms = 250

interface Open {
  readonly values: unknown[]
  readonly done: () => void
}

/** What front ends of one process ask each other: what has names that no shared memory can foresee. */
export class Siblings {
  readonly #own: number
  readonly #others: number
  readonly #answers: Answers
  readonly #channel: BroadcastChannel | undefined
  readonly #open = new Map<number, Open>()
  #questions = 0

  /** One of `count` front ends, with its own answers. */
  constructor(own: number, count: number, answers: Answers) {
    this.#own = own
    this.#others = count - 1
    this.#answers = answers
    if (count === 1) return
    this.#channel = new BroadcastChannel('rigel front ends')
    this.#channel.onmessage = ({ data }: { data: unknown }) => this.#take(data as Letter)
    unref(this.#channel)
  }

  /** The own answer first, then those of the others who answered in time. */
  async gather(what: string, ask?: unknown): Promise<readonly unknown[]> {
    const own = this.#answer(what, ask)
    if (!this.#channel) return [own]
    this.#questions += 1
    const question = this.#questions
    const values: unknown[] = []
    await new Promise<void>((done) => {
      const timer = setTimeout(done, limit_ms)
      this.#open.set(question, { values, done: () => (clearTimeout(timer), done()) })
      this.#send({ kind: 'ask', from: this.#own, question, what, ask })
    })
    this.#open.delete(question)
    return [own, ...values]
  }

  close(): void {
    this.#channel?.close()
  }

  #take(letter: Letter): void {
    if (letter.kind === 'ask') {
      const value = this.#answer(letter.what, letter.ask)
      this.#send({ kind: 'answer', to: letter.from, question: letter.question, value })
    } else if (letter.to === this.#own) {
      const open = this.#open.get(letter.question)
      open?.values.push(letter.value)
      if (open?.values.length === this.#others) open.done()
    }
  }

  #answer(what: string, ask: unknown): unknown {
    const answer = this.#answers[what]
    if (!answer) throw new Error(`front ends are not asked for ${what}`)
    return answer(ask)
  }

  #send(letter: Letter): void {
    this.#channel?.postMessage(letter)
  }
}

/** The types of Node leave out that a channel need not keep its thread alive. */
function unref(channel: BroadcastChannel | MessagePort): void {
  if ('unref' in channel) channel.unref()
}
