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
  readonly interval_ms?: number
}

const usual_ms = 1000
const response_ms = 2000
/**
 * After this many unanswered questions a member counts as unreachable. Questions are counted, not time: a paused process asks
 * none.
 */
const vainMost = 5

/** Finds out which other members this node can reach, by cheap questions. */
export class Reachability {
  readonly #parts: ReachabilityParts
  readonly #timer: NodeJS.Timeout
  #members: ReadonlyMap<string, WatchedMember> = new Map()
  #unreachable: readonly string[] = []

  constructor(parts: ReachabilityParts) {
    this.#parts = parts
    this.#timer = setInterval(() => this.#look(), parts.interval_ms ?? usual_ms)
    this.#timer.unref()
  }

  /** Takes the other members and their addresses. */
  put(members: readonly NodeAddress[]): void {
    const before = this.#members
    const after = new Map<string, WatchedMember>()
    for (const address of members) {
      const known = before.get(address.node)
      after.set(address.node, known?.isAt(address) ? known : new WatchedMember(address, this.#parts.caller))
    }
    for (const [node, member] of before) if (after.get(node) !== member) member.close()
    this.#members = after
    this.#tell()
  }

  close(): void {
    clearInterval(this.#timer)
    for (const member of this.#members.values()) member.close()
  }

  #look(): void {
    for (const member of this.#members.values()) member.ask()
    this.#tell()
  }

  #tell(): void {
    const { log, changed } = this.#parts
    const before = new Set(this.#unreachable)
    const silent = [...this.#members].filter(([, { vain }]) => vain >= vainMost)
    for (const [node, { where, reason }] of silent) {
      if (!before.has(node)) log.warn('cluster:unreachable', `node ${node} is not reached at ${where}: ${reason}`)
    }
    this.#unreachable = silent.map(([node]) => node).sort()
    for (const node of before) {
      if (!this.#unreachable.includes(node) && this.#members.has(node))
        log.info('cluster:unreachable', `node ${node} is reached again`)
    }
    if (this.#unreachable.join(' ') !== [...before].join(' ')) changed(this.#unreachable)
  }
}

/** Another member, and how it has answered. */
class WatchedMember {
  readonly #address: NodeAddress
  readonly #questions: PositionQuestions
  #isUnderWay = false
  #isAnswered = true
  /** The questions since its last response. */
  vain = 0
  reason = ''

  constructor(address: NodeAddress, caller: LinkCaller) {
    this.#address = address
    this.#questions = new PositionQuestions(() => new NodeConnection(address, caller), response_ms)
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
    void this.#questions.ask([]).then((response) => {
      this.#isUnderWay = false
      this.#isAnswered = response.ok
      if (!response.ok) this.reason = response.error.reason
    })
  }

  close(): void {
    this.#questions.close()
  }
}
