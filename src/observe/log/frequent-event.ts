/** The time in which there may be one line, or a few, about the same kind of event. */
const line_ms = 10_000

/** Something that may happen very often: its lines are limited, and each says how often it has happened since the one before. */
export class FrequentEvent {
  readonly #now_ms: () => number
  readonly #mostLines: number
  #since = 0
  /** The lines since the first of those that are limited together, and when that was. */
  #lines = 0
  #firstLine_ms = Number.NEGATIVE_INFINITY

  /** `mostLines`: how many lines there may be in 10 s. */
  constructor(now_ms = () => performance.now(), mostLines = 1) {
    this.#now_ms = now_ms
    this.#mostLines = mostLines
  }

  /** It has happened again. If a line may be written, gives how often it has happened since the last one, this time included. */
  happened(): number | undefined {
    this.#since += 1
    const now_ms = this.#now_ms()
    if (now_ms - this.#firstLine_ms >= line_ms) {
      this.#firstLine_ms = now_ms
      this.#lines = 0
    } else if (this.#lines >= this.#mostLines) return undefined
    this.#lines += 1
    const since = this.#since
    this.#since = 0
    return since
  }
}

/** How many subjects may have lines in the time between two lines about one of them. */
const mostSubjects = 10_000

/** Events of one kind that have subjects: the lines about each subject are limited, and those about all subjects together. */
export class FrequentEvents {
  readonly #now_ms: () => number
  readonly #events = new Map<string, FrequentEvent>()
  /** When no subject was remembered last. */
  #begun_ms: number

  constructor(now_ms = () => performance.now()) {
    this.#now_ms = now_ms
    this.#begun_ms = now_ms()
  }

  /** It has happened to a subject. If a line may be written, gives how often since the last one about it, this time included. */
  happened(subject: string): number | undefined {
    const known = this.#events.get(subject)
    if (known !== undefined) return known.happened()
    if (this.#events.size >= mostSubjects && !this.#forgets()) return undefined
    const event = new FrequentEvent(this.#now_ms)
    this.#events.set(subject, event)
    return event.happened()
  }

  /** Forgets all subjects, unless the first of them may have had a line just now. */
  #forgets(): boolean {
    const now_ms = this.#now_ms()
    if (now_ms - this.#begun_ms < line_ms) return false
    this.#begun_ms = now_ms
    this.#events.clear()
    return true
  }
}
