import { randomInt } from 'node:crypto'
import { err, ok, type Result } from '../result.js'
import type { EngineUnavailable } from './engine.js'
import type { CallFault, EtcdCalls } from './etcd-client.js'
import { type Compare, compareEqual, compareRevision, compareVersion } from './etcd-protocol.js'
import { endOf, KeyWatch, type WatchedKeys } from './key-watch.js'
import { factsText, isSameFacts, type NodeFacts, parseFacts } from './node-facts.js'

/** A setting of the cluster, with the revision that it has. */
export interface ClusterSetting {
  readonly revision: number
  readonly text: string
}

/** Somebody else has changed a setting since it was read. */
export interface SettingChanged {
  readonly kind: 'changed'
}

/** That a node is a member, for as long as it renews its lease. */
export interface MemberLease {
  /** Resolves when the lease has ended, whoever ended it: a hint to stop trying. */
  readonly lost: Promise<void>
  /** Says something else of the node from now on. */
  tell(self: NodeFacts): void
  /**
   * What stands of the node. Where that is not what was told last, it is told again with the next renewal: a request that was not answered
   * in time may be carried out behind later ones, with what the node had said before, or for a lease that it does not renew.
   */
  stands(own: NodeFacts | undefined): void
  /** Ends the lease. */
  leave(): Promise<void>
}

/** Until it is stopped. */
export interface Following {
  stop(): void
}

/** A lease is renewed so often while it lasts. */
const renewals = 3

/** Who is in a cluster, and the settings that its nodes share: in etcd, beside the logs. */
export class EtcdNodes {
  readonly #client: EtcdCalls
  readonly #prefix: string

  constructor(client: EtcdCalls, prefix: string) {
    this.#client = client
    this.#prefix = prefix
  }

  /** A setting; nothing where there is none. */
  async setting(name: string): Promise<Result<ClusterSetting | undefined, EngineUnavailable>> {
    const read = await this.#client.call('range', { key: this.#settingKey(name) })
    if (!read.ok) return err(unanswered(read.error))
    const [pair] = read.value.kvs
    return ok(pair && { revision: pair.modRevision, text: pair.value.toString() })
  }

  /** Changes a setting that has the revision which was read, 0 for none; gives its new one. */
  async change(
    name: string,
    expected: number,
    text: string,
  ): Promise<Result<number, SettingChanged | EngineUnavailable>> {
    const key = this.#settingKey(name)
    const isExpected: Compare = { result: compareEqual, target: compareRevision, key, modRevision: expected }
    const put = { requestPut: { key, value: Buffer.from(text) } }
    const changed = await this.#client.call('txn', { compare: [isExpected], success: [put], failure: [] })
    if (!changed.ok) return err(unanswered(changed.error))
    return changed.value.succeeded ? ok(changed.value.header.revision) : err({ kind: 'changed' })
  }

  /**
   * Changes the setting that lists the nodes, unless one that is not listed any more is a member, and forgets how far its checkpoints
   * were.
   */
  async remove(
    node: string,
    { name, expected, text }: { readonly name: string; readonly expected: number; readonly text: string },
  ): Promise<Result<undefined, SettingChanged | { readonly kind: 'isMember' } | EngineUnavailable>> {
    const [key, member] = [this.#settingKey(name), `${this.#prefix}/member/${node}`]
    const removed = await this.#client.call('txn', {
      compare: [
        { result: compareEqual, target: compareRevision, key, modRevision: expected },
        { result: compareEqual, target: compareVersion, key: member, version: 0 },
      ],
      success: [
        { requestPut: { key, value: Buffer.from(text) } },
        { requestDeleteRange: { key: `${this.#checkpointsKey}${node}` } },
      ],
      failure: [{ requestRange: { key: member } }],
    })
    if (!removed.ok) return err(unanswered(removed.error))
    if (removed.value.succeeded) return ok(undefined)
    const isMember = removed.value.responses[0]?.responseRange?.kvs.length === 1
    return err({ kind: isMember ? 'isMember' : 'changed' })
  }

  watchSettings(changed: (settings: ReadonlyMap<string, ClusterSetting>) => void): Following {
    return new KeyWatch(this.#client, `${this.#prefix}/setting/`, (keys) => {
      const settings = Array.from(
        keys,
        ([name, { revision, value }]) => [name, { revision, text: value.toString() }] as const,
      )
      changed(new Map(settings))
    })
  }

  /** Who the members are now, as `watchMembers` says. */
  async members(): Promise<Result<readonly NodeFacts[], EngineUnavailable>> {
    const key = `${this.#prefix}/member/`
    const read = await this.#client.call('range', { key, rangeEnd: endOf(key) })
    if (!read.ok) return err(unanswered(read.error))
    return ok(read.value.kvs.flatMap(({ value }) => parseFacts(value.toString()) ?? []))
  }

  /** Members whose facts are of a later format are not among them. */
  watchMembers(changed: (members: readonly NodeFacts[]) => void): Following {
    return new KeyWatch(this.#client, `${this.#prefix}/member/`, (keys) => changed(membersOf(keys)))
  }

  /** Says how far the checkpoints of a node are: it stays, whether the node is a member or not. */
  async tellCheckpoints(node: string, text: string): Promise<Result<undefined, EngineUnavailable>> {
    const put = { requestPut: { key: `${this.#checkpointsKey}${node}`, value: Buffer.from(text) } }
    const told = await this.#client.call('txn', { compare: [], success: [put], failure: [] })
    return told.ok ? ok(undefined) : err(unanswered(told.error))
  }

  /** What nodes have said last of their checkpoints, by their names. */
  async checkpoints(): Promise<Result<ReadonlyMap<string, string>, EngineUnavailable>> {
    const key = this.#checkpointsKey
    const read = await this.#client.call('range', { key, rangeEnd: endOf(key) })
    if (!read.ok) return err(unanswered(read.error))
    const said = read.value.kvs.map(
      (pair) => [pair.key.subarray(key.length).toString(), pair.value.toString()] as const,
    )
    return ok(new Map(said))
  }

  /** Makes this node a member for as long as it renews its lease. */
  async join(self: NodeFacts, ttl_ms: number): Promise<Result<MemberLease, EngineUnavailable>> {
    const lease = randomInt(1, 2 ** 47)
    const granted = await this.#client.call('leaseGrant', { ID: lease, TTL: Math.ceil(ttl_ms / 1000) })
    if (!granted.ok) return err(unanswered(granted.error))
    const told = await this.#tell(self, lease)
    if (!told.ok) return told
    return ok(this.#kept(lease, ttl_ms, self))
  }

  #kept(lease: number, ttl_ms: number, joined: NodeFacts): MemberLease {
    let renewed_ms = performance.now()
    let lose = (): void => {}
    const lost = new Promise<void>((resolve) => {
      lose = resolve
    })
    /** What is to be said and is not yet, and whether that is under way. */
    let untold: NodeFacts | undefined
    let isTelling = false
    let meant = joined
    let standing: { readonly own: NodeFacts | undefined } | undefined
    const tell = async (): Promise<void> => {
      if (isTelling || untold === undefined) return
      const facts = untold
      untold = undefined
      isTelling = true
      const told = await this.#tell(facts, lease)
      isTelling = false
      if (!told.ok) untold ??= facts
      else await tell()
    }
    const end = (): void => {
      clearInterval(timer)
      lose()
    }
    const renew = async (): Promise<void> => {
      const begun_ms = performance.now()
      const left_s = await this.#renewed(lease, ttl_ms / renewals)
      if (left_s !== undefined && left_s > 0) renewed_ms = begun_ms
      if (left_s === 0 || performance.now() - renewed_ms > ttl_ms) return end()
      if (standing !== undefined && !isSameFacts(standing.own, meant)) untold ??= meant
      await tell()
    }
    const timer = setInterval(() => void renew(), ttl_ms / renewals)
    return {
      lost,
      tell: (facts) => {
        meant = facts
        untold = facts
        void tell()
      },
      stands: (own) => {
        standing = { own }
      },
      leave: async () => {
        end()
        await this.#client.call('leaseRevoke', { ID: lease })
      },
    }
  }

  async #tell(self: NodeFacts, lease: number): Promise<Result<undefined, EngineUnavailable>> {
    const put = {
      requestPut: { key: `${this.#prefix}/member/${self.name}`, value: Buffer.from(factsText(self)), lease },
    }
    const told = await this.#client.call('txn', { compare: [], success: [put], failure: [] })
    return told.ok ? ok(undefined) : err(unanswered(told.error))
  }

  /** How long the lease lasts from now on, in seconds: 0 when it has ended, nothing when that is not known. */
  #renewed(lease: number, limit_ms: number): Promise<number | undefined> {
    return new Promise((resolve) => {
      const stream = this.#client.open(
        'leaseKeepAlive',
        { ID: lease },
        ({ TTL }) => {
          stream.close()
          resolve(TTL)
        },
        () => resolve(undefined),
        limit_ms,
      )
    })
  }

  get #checkpointsKey(): string {
    return `${this.#prefix}/checkpoints/`
  }

  #settingKey(name: string): string {
    return `${this.#prefix}/setting/${name}`
  }
}

function membersOf(keys: WatchedKeys): readonly NodeFacts[] {
  return [...keys.values()].flatMap(({ value }) => parseFacts(value.toString()) ?? [])
}

function unanswered({ reason }: CallFault): EngineUnavailable {
  return { kind: 'unavailable', reason }
}
