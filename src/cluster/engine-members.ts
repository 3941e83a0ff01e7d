import { setInterval as ticks } from 'node:timers/promises'
import type { EtcdClient } from './etcd-client.js'

/** How soon it is known that a member has come or announces something else. */
const look_ms = 5000

interface EngineMembersParts {
  readonly client: EtcdClient
  /** Gets all URLs that the members announce, for clients and for each other, each time that they were read. */
  readonly told: (urls: readonly string[]) => void
  /** Told why they cannot be read, when that is not for a moment. */
  readonly refused: (reason: string) => void
}

/** Follows which URLs the members of etcd announce. A member that does not answer is no news. */
export class EngineMembers {
  readonly #parts: EngineMembersParts

  constructor(parts: EngineMembersParts) {
    this.#parts = parts
  }

  /** Reads them once. Any member answers, without a majority. */
  async look(): Promise<void> {
    const { client, told, refused } = this.#parts
    const read = await client.call('memberList', {})
    if (read.ok) told(read.value.members.flatMap(({ clientURLs, peerURLs }) => [...clientURLs, ...peerURLs]))
    else if (read.error.kind === 'refused') refused(read.error.reason)
  }

  /** Reads them again and again, until the signal comes. */
  async follow(until: AbortSignal): Promise<void> {
    try {
      for await (const _ of ticks(look_ms, undefined, { signal: until, ref: false })) await this.look()
    } catch (fault) {
      if (!until.aborted) throw fault
    }
  }
}
