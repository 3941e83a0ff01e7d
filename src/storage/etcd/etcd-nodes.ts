import { randomInt } from 'node:crypto'
import { err, ok, type Result } from '../../result.js'
import type { EngineUnavailable } from './engine.js'
import { type EtcdCalls, unavailable } from './etcd-client.js'
import { type Compare, compareEqual, compareRevision, compareVersion } from './etcd-protocol.js'
import { endOf, KeyWatch, type WatchedKeys } from './key-watch.js'
import {
  type ClusterNodes,
  factsText,
  isSameFacts,
  type ListingRefusal,
  type NodeFacts,
  nodesKey,
  nodesText,
  parseFacts,
  parseNodes,
  settingsKey,
  withNode,
} from './node-facts.js'

/** The membership of a node, which lasts as long as it renews its lease. */
export interface MemberLease {
  /** Resolves when the lease has ended for whatever reason: a hint to stop trying. */
  readonly lost: Promise<void>
  /** Publishes other facts of the node from now on. */
  tell(self: NodeFacts): void
  /**
   * What stands of the node. Where that is not what was told last, it is told again with the next renewal: a request that was not answered
   * in time may be carried out behind later ones, with what the node had said before, or for a lease that it does not renew.
   */
  stands(own: NodeFacts | undefined): void
  /** Ends the lease. */
  leave(): Promise<void>
}

/** Why a node is no member: etcd has not carried it out, or another process is the member of its name, at this address. */
export type MemberRefusal = EngineUnavailable | { readonly kind: 'taken'; readonly address: string }

/** A subscription to changes, until it is stopped. */
export interface Following {
  stop(): void
}

/** Renewals within the duration of a lease. */
const renewals = 3

/** Attempts to change the list of nodes while other nodes change it first. */
const changesMost = 20

/** Which nodes a cluster has, and who of them are members: in etcd, beside the logs. */
export class EtcdNodes {
  readonly #client: EtcdCalls
  readonly #prefix: string

  constructor(client: EtcdCalls, prefix: string) {
    this.#client = client
    this.#prefix = prefix
  }

  /** Lists a node, and gives all that are listed. Refuses with a text for the operator. */
  async list({
    node,
    folder,
  }: {
    readonly node: string
    readonly folder: string
  }): Promise<Result<ClusterNodes, string>> {
    const key = this.#nodesKey
    for (let changes = 0; changes < changesMost; changes += 1) {
      const read = await this.#client.call('range', { key })
      if (!read.ok) return err(read.error.reason)
      const [pair] = read.value.kvs
      const held = pair && parseNodes(pair.value.toString())
      if (pair === undefined || held === undefined)
        return err('the list of its nodes is written by a later version of Rigel, or damaged')
      const next = withNode(held, node, folder)
      if (!next.ok) return err(listingText(next.error))
      if (next.value === held) return next
      const isExpected: Compare = { result: compareEqual, target: compareRevision, key, modRevision: pair.modRevision }
      const success = [{ requestPut: { key, value: Buffer.from(nodesText(next.value)) } }]
      const changed = await this.#client.call('txn', { compare: [isExpected], success, failure: [] })
      if (!changed.ok) return err(changed.error.reason)
      if (changed.value.succeeded) return next
    }
    return err('the list of its nodes changes all the time')
  }

  /**
   * Changes the list of nodes, which has the revision that was read, unless one that is not listed any more is a member, and forgets how
   * far its checkpoints were.
   */
  async remove(
    node: string,
    { revision, left }: { readonly revision: number; readonly left: ClusterNodes },
  ): Promise<Result<undefined, { readonly kind: 'changed' } | { readonly kind: 'isMember' } | EngineUnavailable>> {
    const [key, member] = [this.#nodesKey, this.#memberKey(node)]
    const removed = await this.#client.call('txn', {
      compare: [
        { result: compareEqual, target: compareRevision, key, modRevision: revision },
        { result: compareEqual, target: compareVersion, key: member, version: 0 },
      ],
      success: [
        { requestPut: { key, value: Buffer.from(nodesText(left)) } },
        { requestDeleteRange: { key: `${this.#checkpointsKey}${node}` } },
      ],
      failure: [{ requestRange: { key: member } }],
    })
    if (!removed.ok) return err(unavailable(removed.error))
    if (removed.value.succeeded) return ok(undefined)
    const isMember = removed.value.responses[0]?.responseRange?.kvs.length === 1
    return err({ kind: isMember ? 'isMember' : 'changed' })
  }

  /** Follows the list of nodes. */
  watchListed(changed: (nodes: ClusterNodes) => void): Following {
    return new KeyWatch(this.#client, `${this.#prefix}/${settingsKey}`, (keys) => {
      const [held] = [...keys.values()].flatMap((value) => parseNodes(value.toString()) ?? [])
      if (held !== undefined) changed(held)
    })
  }

  /** The current members. */
  async members(): Promise<Result<readonly NodeFacts[], EngineUnavailable>> {
    const key = `${this.#prefix}/member/`
    const read = await this.#client.call('range', { key, rangeEnd: endOf(key) })
    if (!read.ok) return err(unavailable(read.error))
    return ok(read.value.kvs.flatMap(({ value }) => parseFacts(value.toString()) ?? []))
  }

  /** Follows the members, without those whose facts are of a later format. */
  watchMembers(changed: (members: readonly NodeFacts[]) => void): Following {
    return new KeyWatch(this.#client, `${this.#prefix}/member/`, (keys) => changed(membersOf(keys)))
  }

  /** Publishes the progress of a node's checkpoints, which stays when the node is no member any more. */
  async tellCheckpoints(node: string, text: string): Promise<Result<undefined, EngineUnavailable>> {
    const put = { requestPut: { key: `${this.#checkpointsKey}${node}`, value: Buffer.from(text) } }
    const response = await this.#client.call('txn', { compare: [], success: [put], failure: [] })
    return response.ok ? ok(undefined) : err(unavailable(response.error))
  }

  /** The last published progress of each node's checkpoints, by name. */
  async checkpoints(): Promise<Result<ReadonlyMap<string, string>, EngineUnavailable>> {
    const key = this.#checkpointsKey
    const read = await this.#client.call('range', { key, rangeEnd: endOf(key) })
    if (!read.ok) return err(unavailable(read.error))
    const texts = read.value.kvs.map(
      (pair) => [pair.key.subarray(key.length).toString(), pair.value.toString()] as const,
    )
    return ok(new Map(texts))
  }

  /**
   * Makes this node a member for as long as it renews its lease, unless its name has another address in etcd. That is of another process,
   * or of a predecessor whose lease has not ended. Of several that join at one moment etcd takes one.
   */
  async join(self: NodeFacts, ttl_ms: number): Promise<Result<MemberLease, MemberRefusal>> {
    const lease = randomInt(1, 2 ** 47)
    const created = await this.#client.call('leaseGrant', { ID: lease, TTL: Math.ceil(ttl_ms / 1000) })
    if (!created.ok) return err(unavailable(created.error))
    const taken = await this.#takeName(self, lease)
    if (taken.ok) return ok(this.#kept(lease, ttl_ms, self))
    if (taken.error.kind === 'taken') await this.#client.call('leaseRevoke', { ID: lease })
    return taken
  }

  async #takeName(self: NodeFacts, lease: number): Promise<Result<undefined, MemberRefusal>> {
    const key = this.#memberKey(self.name)
    const success = [this.#putting(self, lease)]
    const isFree: Compare = { result: compareEqual, target: compareVersion, key, version: 0 }
    const first = await this.#client.call('txn', { compare: [isFree], success, failure: [{ requestRange: { key } }] })
    if (!first.ok) return err(unavailable(first.error))
    if (first.value.succeeded) return ok(undefined)
    const [held] = first.value.responses[0]?.responseRange?.kvs ?? []
    const address = held && parseFacts(held.value.toString())?.address
    // What stands at its own address it has said itself, or its predecessor: nobody else listens there.
    if (held === undefined || address !== self.address) return err({ kind: 'taken', address: address ?? '' })
    const { modRevision } = held
    const isSame: Compare = { result: compareEqual, target: compareRevision, key, modRevision }
    const second = await this.#client.call('txn', { compare: [isSame], success, failure: [] })
    if (!second.ok) return err(unavailable(second.error))
    return second.value.succeeded ? ok(undefined) : err({ kind: 'unavailable', reason: 'its facts have just changed' })
  }

  #kept(lease: number, ttl_ms: number, joined: NodeFacts): MemberLease {
    let renewed_ms = performance.now()
    let lose = (): void => {}
    const lost = new Promise<void>((resolve) => {
      lose = resolve
    })
    /** The facts to publish next, and whether a request is under way. */
    let untold: NodeFacts | undefined
    let isTelling = false
    let meant = joined
    let standing: { readonly own: NodeFacts | undefined } | undefined
    const tell = async (): Promise<void> => {
      if (isTelling || untold === undefined) return
      const facts = untold
      untold = undefined
      isTelling = true
      const written = await this.#put(facts, lease)
      isTelling = false
      if (!written.ok) untold ??= facts
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

  async #put(self: NodeFacts, lease: number): Promise<Result<undefined, EngineUnavailable>> {
    const success = [this.#putting(self, lease)]
    const response = await this.#client.call('txn', { compare: [], success, failure: [] })
    return response.ok ? ok(undefined) : err(unavailable(response.error))
  }

  #putting(self: NodeFacts, lease: number) {
    return { requestPut: { key: this.#memberKey(self.name), value: Buffer.from(factsText(self)), lease } }
  }

  #memberKey(node: string): string {
    return `${this.#prefix}/member/${node}`
  }

  /** Renews a lease; returns its remaining seconds, 0 if it has ended, undefined if that is unknown. */
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

  get #nodesKey(): string {
    return `${this.#prefix}/${nodesKey}`
  }
}

function listingText(refusal: ListingRefusal): string {
  switch (refusal.kind) {
    case 'nameTaken':
      return `node ${refusal.name} of it has another data folder: give another -nodeName, or start with that folder. If that is lost, \`rigel cluster remove ${refusal.name}\` makes the name free`
    case 'folderListed':
      return `this data folder is that of its node ${refusal.name}: start with -nodeName ${refusal.name}`
    case 'noSlot':
      return `it has ${refusal.nodes} nodes, and no cluster has more: \`rigel cluster remove NAME\` takes one out that will not return`
  }
}

function membersOf(keys: WatchedKeys): readonly NodeFacts[] {
  return [...keys.values()].flatMap((value) => parseFacts(value.toString()) ?? [])
}
