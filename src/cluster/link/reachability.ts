import type { Log } from '../../observe/log/log.js'
import type { NodeAddress } from '../membership/route-table.js'
import { type LinkCaller, NodeConnection } from './node-connection.js'
import { PositionQuestions } from './position-questions.js'

interface ReachabilityParts {
  readonly caller: LinkCaller
  readonly log: Log
  /** Gets the names of the members that cannot be reached, whenever they change. */
  readonly changed: (unreachable: readonly string[]) => void
  /** How often each other member is asked; once a second if absent. */
  readonly ask_ms?: number
}

const usual_ms = 1000
const answer_ms = 2000
/**
 * After this many unanswered questions a member counts as unreachable. Questions are counted, not time: a paused process asks
 * none.
 */
const vainMost = 5

/** Finds out which other members this node can reach, by cheap questions. */
export class Reachability {
  readonly #parts: ReachabilityParts
  readonly #timer: NodeJS.Timeout
  #asked: ReadonlyMap<string, Asked> = new Map()
  #unreachable: readonly string[] = []

  constructor(parts: ReachabilityParts) {
    this.#parts = parts
    this.#timer = setInterval(() => this.#look(), parts.ask_ms ?? usual_ms)
    this.#timer.unref()
  }

  /** Takes the other members and their addresses. */
  put(members: readonly NodeAddress[]): void {
    const before = this.#asked
    const after = new Map<string, Asked>()
    for (const address of members) {
      const known = before.get(address.node)
      after.set(address.node, known?.isAt(address) ? known : new Asked(address, this.#parts.caller))
    }
    for (const [node, asked] of before) if (after.get(node) !== asked) asked.close()
    this.#asked = after
    this.#tell()
  }

  close(): void {
    clearInterval(this.#timer)
    for (const asked of this.#asked.values()) asked.close()
  }

  #look(): void {
    for (const asked of this.#asked.values()) asked.ask()
    this.#tell()
  }

  #tell(): void {
    const { log, changed } = this.#parts
    const before = new Set(this.#unreachable)
    const silent = [...this.#asked].filter(([, { vain }]) => vain >= vainMost)
    for (const [node, { where, reason }] of silent) {
      if (!before.has(node)) log.warn('cluster:unreachable', `node ${node} is not reached at ${where}: ${reason}`)
    }
    this.#unreachable = silent.map(([node]) => node).sort()
    for (const node of before) {
      if (!this.#unreachable.includes(node) && this.#asked.has(node))
        log.info('cluster:unreachable', `node ${node} is reached again`)
    }
    if (this.#unreachable.join(' ') !== [...before].join(' ')) changed(this.#unreachable)
  }
}

/** Another member, and how it has answered. */
class Asked {
  readonly #address: NodeAddress
  readonly #questions: PositionQuestions
  #isUnderWay = false
  #isAnswered = true
  /** The questions since its last answer. */
  vain = 0
  reason = ''

  constructor(address: NodeAddress, caller: LinkCaller) {
    this.#address = address
    this.#questions = new PositionQuestions(() => new NodeConnection(address, caller), answer_ms)
  }

  get where(): string {
    return `${this.#address.host} port ${this.#address.port}`
  }

  isAt({ host, port }: NodeAddress): boolean {
    return host === this.#address.host && port === this.#address.port
  }

  /** Asks again, unless a question is under way; counts the time since the last one. */
  ask(): void {
    this.vain = this.#isAnswered ? 0 : this.vain + 1
    if (this.#isUnderWay) return
    this.#isUnderWay = true
    this.#isAnswered = false
    void this.#questions.ask([]).then((answer) => {
      this.#isUnderWay = false
      this.#isAnswered = answer.ok
      if (!answer.ok) this.reason = answer.error.reason
    })
  }

  close(): void {
    this.#questions.close()
  }
}
