import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '../../observe/log/log.js'
import type { EtcdNodes, Following, MemberLease, MemberRefusal } from '../../storage/etcd/etcd-nodes.js'
import type { NodeFacts } from '../../storage/etcd/node-facts.js'

/** The duration of a lease: a node that does not renew it for so long is no member any more. */
const ttl_ms = 6000

/** The pause after a refusal. */
const again_ms = 500

/** How long a node waits for a lease before a line says so. */
const patience_ms = 10_000

/** A name that another process has for so long is not that of a predecessor, whose lease ends before, also if etcd elects a leader. */
const taken_ms = 3 * ttl_ms

export interface MembershipParts {
  readonly nodes: Pick<EtcdNodes, 'join' | 'watchMembers'>
  /** Called with the members after each change. */
  readonly changed: (members: readonly NodeFacts[]) => void
  /** Called when this node gets or loses its lease. */
  readonly isMember: (isMember: boolean) => void
  /** Called when another process, which has this address, has been the member of this node's name for long. */
  readonly taken: (address: string) => void
  readonly log: Pick<Log, 'info' | 'warn'>
  /** How long a name may have another address until `taken` is called; three times the duration of a lease without it. */
  readonly taken_ms?: number
  /** How long a node waits for a lease before a line says so; ten seconds without it. */
  readonly patience_ms?: number
}

/**
 * Keeps a node a member of its cluster for as long as the process lives, and follows who the members are. It asks for a lease again until
 * it has one, since etcd may answer then and a predecessor's lease ends; if another process keeps its name, `taken` ends that.
 */
export class Membership {
  readonly #parts: MembershipParts
  readonly #following: Following
  #self: NodeFacts
  #lease: MemberLease | undefined
  /** Set while there is no lease. */
  #wait: LeaseWait | undefined
  /** Since when another process has had the name. */
  #takenSince_ms: number | undefined
  #hasLeft = false
  /** The members as last reported. */
  #members: readonly NodeFacts[] = []

  /** Joins at once. */
  constructor(self: NodeFacts, parts: MembershipParts) {
    this.#parts = parts
    this.#self = self
    this.#following = parts.nodes.watchMembers((members) => {
      this.#members = members
      this.#lease?.stands(this.#standing)
      parts.changed(members)
    })
    void this.#join()
  }

  /** Publishes other facts of this node from now on. */
  tell(self: NodeFacts): void {
    this.#self = self
    this.#lease?.tell(self)
  }

  async leave(): Promise<void> {
    this.#hasLeft = true
    this.#wait?.end()
    this.#following.stop()
    await this.#lease?.leave()
  }

  /** The facts of this node that are published in etcd. */
  get #standing(): NodeFacts | undefined {
    return this.#members.find(({ name }) => name === this.#self.name)
  }

  /** After a refusal: `#join` asks again. */
  #failed(refusal: MemberRefusal, wait: LeaseWait): void {
    if (refusal.kind === 'unavailable') {
      this.#takenSince_ms = undefined
      wait.failed(refusal.reason)
      return
    }
    wait.failed(takenText(refusal.address))
    const now_ms = performance.now()
    this.#takenSince_ms ??= now_ms
    if (now_ms - this.#takenSince_ms < (this.#parts.taken_ms ?? taken_ms)) return
    this.#takenSince_ms = undefined
    this.#parts.taken(refusal.address)
  }

  async #join(): Promise<void> {
    while (!this.#hasLeft) {
      const self = this.#self
      this.#wait ??= new LeaseWait(this.#parts)
      const joined = await this.#parts.nodes.join(self, ttl_ms)
      if (!joined.ok) {
        this.#failed(joined.error, this.#wait)
        await sleep(again_ms, undefined, { ref: false })
        continue
      }
      this.#takenSince_ms = undefined
      this.#lease = joined.value
      this.#wait.joined()
      this.#wait = undefined
      if (this.#hasLeft) return joined.value.leave()
      if (self !== this.#self) joined.value.tell(this.#self)
      this.#parts.isMember(true)
      await joined.value.lost
      this.#lease = undefined
      if (!this.#hasLeft) this.#parts.isMember(false)
    }
  }
}

/** The text of a process that has the name of a node. */
function takenText(address: string): string {
  return `another process has its name, at ${address || 'an address that this version cannot read'}`
}

/** A wait for a lease: one line when it takes long, with what etcd says, and one when it is over then. */
class LeaseWait {
  readonly #log: Pick<Log, 'info' | 'warn'>
  readonly #timer: NodeJS.Timeout
  #reason = 'it has not answered'
  #isTold = false

  constructor({ log, patience_ms: limit_ms = patience_ms }: MembershipParts) {
    this.#log = log
    this.#timer = setTimeout(() => this.#tell(limit_ms), limit_ms)
    this.#timer.unref()
  }

  failed(reason: string): void {
    this.#reason = reason
  }

  joined(): void {
    this.end()
    if (this.#isTold) this.#log.info('cluster:members', 'etcd has given this node a lease: it is a member')
  }

  end(): void {
    clearTimeout(this.#timer)
  }

  #tell(after_ms: number): void {
    this.#isTold = true
    const since = `etcd has given it no lease for ${after_ms / 1000} s (${this.#reason})`
    this.#log.warn('cluster:members', `this node is no member of its cluster: ${since}, and is asked again`)
  }
}
