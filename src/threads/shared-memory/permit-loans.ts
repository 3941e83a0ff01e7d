import type { SharedSemaphore } from './semaphore.js'

/** When something waits for so long while nothing is heard, whoever is waited for is silent. */
const silent_ms = 1000

/** So many requests wait for one that is silent, however many others wait for permits. */
const fewest = 16

const look_ms = 200

/**
 * Lends permits to requests that wait for another node which does not answer: they do nothing and have a permit, and would keep it from
 * requests that others can answer. What is lent is taken back when they do not wait any more. Until then few more of them begin to wait for
 * that node.
 */
export class PermitLoans {
  readonly #semaphore: Pick<SharedSemaphore, 'enqueue' | 'queued' | 'release'>
  readonly #most: number
  readonly #waits: Waits[] = []
  readonly #changed: (lent: number) => void
  #timer: NodeJS.Timeout | undefined
  #lent = 0

  /** `most`: how many permits are lent at a time at most. `changed` is told how many are lent, when it is another number. */
  constructor(
    semaphore: Pick<SharedSemaphore, 'enqueue' | 'queued' | 'release'>,
    most: number,
    changed: (lent: number) => void,
  ) {
    this.#semaphore = semaphore
    this.#most = most
    this.#changed = changed
  }

  /** Of those who wait for one other. */
  newWaits(): Waits {
    this.#timer ??= setInterval(() => this.#look(), look_ms).unref()
    const waits = new Waits(() => this.#isCrowded)
    this.#waits.push(waits)
    return waits
  }

  /** Whether others want the permits of those who wait for somebody silent, or have them by now. */
  get #isCrowded(): boolean {
    return this.#lent > 0 || this.#semaphore.queued > 0
  }

  /** Lends as many permits as requests wait for somebody silent, if others want them; takes back what is too much. */
  #look(): void {
    const now_ms = performance.now()
    let silent = 0
    for (const waits of this.#waits) if (waits.isSilent(now_ms)) silent += waits.open
    const wanted = this.#isCrowded ? Math.min(silent, this.#most) : 0
    if (wanted !== this.#lent) this.#changed(wanted)
    for (; this.#lent < wanted; this.#lent += 1) this.#semaphore.release()
    // A position that nobody waits at, and whose permit nobody gives back.
    for (; this.#lent > wanted; this.#lent -= 1) this.#semaphore.enqueue()
  }

  close(): void {
    clearInterval(this.#timer)
  }
}

/** Those who wait for one other that may be silent. */
export class Waits {
  readonly #isCrowded: () => boolean
  #heard_ms = 0
  #isHeard = true
  /** How many wait. */
  open = 0

  constructor(isCrowded: () => boolean) {
    this.#isCrowded = isCrowded
  }

  /** One more waits, unless some do while nothing is heard and others want their permits; says whether it does. */
  begin(): boolean {
    const now_ms = performance.now()
    if (this.open === 0 && this.#isHeard) this.#heard_ms = now_ms
    if (this.open >= fewest && this.isSilent(now_ms) && this.#isCrowded()) return false
    this.open += 1
    return true
  }

  /** One does not wait any more: it was answered, or has given up. */
  end(isAnswered: boolean): void {
    this.open -= 1
    this.#isHeard = isAnswered
    if (isAnswered) this.#heard_ms = performance.now()
  }

  isSilent(now_ms: number): boolean {
    return this.open > 0 && now_ms - this.#heard_ms >= silent_ms
  }
}
