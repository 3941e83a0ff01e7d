import { BroadcastChannel } from 'node:worker_threads'

/** Questions of front ends to each other by name, with the part that each one answers. */
type Asking<Questions> = { readonly [Name in keyof Questions]: { readonly request: unknown; readonly part: unknown } }

/** The part of this front end. */
export type PeerResponder<Questions extends Asking<Questions>> = <Name extends keyof Questions>(
  name: Name,
  request: Questions[Name]['request'],
) => Questions[Name]['part'] | Promise<Questions[Name]['part']>

type PeerMessage<Questions extends Asking<Questions>> =
  | {
      readonly kind: 'request'
      readonly from: number
      readonly question: number
      readonly name: keyof Questions
      readonly request: Questions[keyof Questions]['request']
    }
  | { readonly kind: 'response'; readonly to: number; readonly question: number; readonly part: unknown }

/** Front ends answer within this time or are left out [management 5.5]. */
const limit_ms = 250

/** More questions than this are open only if a front end stands still: the oldest is then given up with what would still come. */
const mostOpen = 1_000

interface OpenQuestion {
  /** How many parts are to come. */
  missing: number
  /** Takes one part: while there is time for the one who waits for all of them, then as a late one. */
  take: (part: unknown) => void
}

/**
 * The front ends of one process, and its courier, as one of them sees them: they ask each other for what shared memory can not hold,
 * because nobody can foresee its names.
 */
export class Peers<Questions extends Asking<Questions>> {
  readonly #own: number
  readonly #others: number
  readonly #respond: PeerResponder<Questions>
  readonly #failed: (fault: unknown) => void
  readonly #channel: BroadcastChannel | undefined
  readonly #open = new Map<number, OpenQuestion>()
  #questions = 0
  #isClosed = false

  /** One of `count` threads, the front ends and the courier, with its own responses; `failed` hears why there is none. */
  constructor(own: number, count: number, respond: PeerResponder<Questions>, failed: (fault: unknown) => void) {
    this.#own = own
    this.#others = count - 1
    this.#respond = respond
    this.#failed = failed
    if (count === 1) return
    this.#channel = new BroadcastChannel('rigel front ends')
    // What arrives was sent by this very class in another thread.
    this.#channel.onmessage = ({ data }: { data: unknown }) => this.#take(data as PeerMessage<Questions>)
    // What cannot be read is missing like what comes too late: nobody waits longer than the limit for it.
    this.#channel.onmessageerror = () => {}
  }

  /**
   * The part of this front end, requested before the call returns, and those of the others that answered in time. `late` gets those that come later:
   * without it they are lost, which matters where a front end does not keep what it has told.
   */
  async gather<Name extends keyof Questions>(
    name: Name,
    request: Questions[Name]['request'],
    late?: (part: Questions[Name]['part']) => void,
  ): Promise<readonly Questions[Name]['part'][]> {
    const own = this.#respond(name, request)
    const others = this.#channel && !this.#isClosed ? this.#askOthers(name, request, late) : []
    return [await own, ...(await others)]
  }

  /** From now on this front end answers its own questions alone, and none of others. */
  close(): void {
    this.#isClosed = true
    this.#channel?.close()
  }

  async #askOthers<Name extends keyof Questions>(
    name: Name,
    request: Questions[Name]['request'],
    late: ((part: Questions[Name]['part']) => void) | undefined,
  ): Promise<readonly Questions[Name]['part'][]> {
    this.#questions += 1
    const question = this.#questions
    const parts: unknown[] = []
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, limit_ms)
      const open: OpenQuestion = {
        missing: this.#others,
        take: (part) => {
          parts.push(part)
          if (open.missing > 0) return
          clearTimeout(timer)
          resolve()
        },
      }
      this.#open.set(question, open)
      this.#send({ kind: 'request', from: this.#own, question, name, request })
    })
    this.#isOver(question, late)
    return parts
  }

  /** The time of a question is over; what comes from now on is late. */
  #isOver(question: number, late: ((part: unknown) => void) | undefined): void {
    const open = this.#open.get(question)
    if (late === undefined) this.#open.delete(question)
    else if (open !== undefined) open.take = late
    const [oldest] = this.#open.keys()
    if (oldest !== undefined && this.#open.size > mostOpen) this.#open.delete(oldest)
  }

  #take(message: PeerMessage<Questions>): void {
    if (message.kind === 'request') {
      this.#reply(message)
      return
    }
    if (message.to !== this.#own) return
    const { question } = message
    const open = this.#open.get(question)
    if (open === undefined) return
    open.missing -= 1
    if (open.missing === 0) this.#open.delete(question)
    open.take(message.part)
  }

  /** Whoever asks is told nothing when this front end fails over the question, as when it takes too long. */
  #reply({ name, request, from, question }: Extract<PeerMessage<Questions>, { kind: 'request' }>): void {
    const respond = async (): Promise<void> => {
      const part = await this.#respond(name, request)
      this.#send({ kind: 'response', to: from, question, part })
    }
    respond().catch((fault: unknown) => {
      if (!this.#isClosed) this.#failed(fault)
    })
  }

  /** Nothing is sent any more once this is closed, which may be while a response is made. */
  #send(message: PeerMessage<Questions>): void {
    if (!this.#isClosed) this.#channel?.postMessage(message)
  }
}
