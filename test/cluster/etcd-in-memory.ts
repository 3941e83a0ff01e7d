import { err, ok, type Result } from '../../src/result.js'
import type { CallFault, EtcdCalls } from '../../src/storage/etcd/etcd-client.js'
import {
  type Calls,
  type Compare,
  compareRevision,
  compareValue,
  compareVersion,
  type EtcdStreams,
  eventDelete,
  type KeyValue,
  type RangeRequest,
  type RangeResponse,
  type RequestOp,
  type ResponseOp,
  type TxnRequest,
  type TxnResponse,
  type WatchResponse,
} from '../../src/storage/etcd/etcd-protocol.js'

/** What lies between a client and etcd. */
export interface EtcdNetwork {
  /** Resolves when a message has arrived at etcd, or at the client. */
  carried(to: 'etcd' | 'client'): Promise<void>
  /** Whether the message that was to be carried is lost; the call is then not answered. */
  isLost(): boolean
}

const nearby: EtcdNetwork = { carried: () => Promise.resolve(), isLost: () => false }

interface Kept {
  readonly value: Buffer
  readonly modRevision: number
  readonly version: number
  readonly lease: number
}

interface Change {
  readonly revision: number
  readonly type: number
  readonly kv: KeyValue
}

interface Watcher {
  readonly from: string
  readonly until: string
  send(response: WatchResponse): void
  end(fault: CallFault): void
}

interface Lease {
  TTL: number
  timer: NodeJS.Timeout
}

class Refusal extends Error {
  readonly kind: CallFault['kind']

  constructor(kind: CallFault['kind'], reason: string) {
    super(reason)
    this.kind = kind
  }
}

const operationsMost = 128
const requestMost_bytes = 1.5 * 2 ** 20
const put = 0
const deadline_ms = 1000

/**
 * What this program uses of etcd, in memory and by etcd's rules: a key is put once in a transaction, a full one takes no puts but nested
 * ones, keys go with their lease, a watch goes on from a revision unless that is compacted. `etcd-rules.ts` holds them against a real one.
 */
export class EtcdInMemory {
  /** Whether its alarm is raised. */
  isFull = false
  /** Whether the next request that puts something fills it: that is carried out, and refused. */
  isFilling = false
  /** Is told of each key that is put. */
  heard: (key: string, value: Buffer) => void = () => {}
  /** What was called invalid. */
  readonly invalid: string[] = []
  #revision = 1
  #compacted = 0
  readonly #keys = new Map<string, Kept>()
  #history: Change[] = []
  readonly #leases = new Map<number, Lease>()
  readonly #watchers = new Set<Watcher>()
  readonly #calls: Calls = {
    range: (request) => this.#range(request),
    txn: (request) => this.#transaction(request),
    compact: ({ revision }) => this.#compact(revision),
    status: () => ({ ...this.#headed, version: '3.5.16', dbSize: 0, leader: 1 }),
    memberList: () => ({ ...this.#headed, members: [] }),
    authenticate: () => ({ token: '' }),
    leaseGrant: ({ ID, TTL = 0 }) => this.#grant(ID, TTL),
    leaseRevoke: ({ ID }) => this.#revoke(ID),
    leaseTimeToLive: ({ ID }) => ({ ...this.#headed, TTL: this.#leases.get(ID)?.TTL ?? -1 }),
  }

  /** A client of it that is reached over a network. */
  client(network = nearby): EtcdCalls {
    return {
      call: (name, request) => beforeDeadline(this.#answered(network, name, request)),
      open: (_name, first, received, ended) => this.#opened(network, first, received, ended),
      close: () => {},
    }
  }

  /** All watches end, as when members lose their leader. */
  breakWatches(): void {
    const watchers = [...this.#watchers]
    this.#watchers.clear()
    for (const watcher of watchers) watcher.end({ kind: 'unavailable', reason: 'no leader' })
  }

  get #headed() {
    return { header: { revision: this.#revision } }
  }

  async #answered<Name extends keyof Calls>(network: EtcdNetwork, name: Name, request: Parameters<Calls[Name]>[0]) {
    await network.carried('etcd')
    const given = network.isLost() ? unanswered : this.#called(name, request)
    await network.carried('client')
    return network.isLost() ? unanswered : given
  }

  #called<Name extends keyof Calls>(
    name: Name,
    request: Parameters<Calls[Name]>[0],
  ): Result<ReturnType<Calls[Name]>, CallFault> {
    // The compiler does not see that a name, its request and its response belong together.
    const called = this.#calls[name] as (request: Parameters<Calls[Name]>[0]) => ReturnType<Calls[Name]>
    try {
      return ok(called(request))
    } catch (fault) {
      if (!(fault instanceof Refusal)) throw fault
      if (fault.kind === 'invalid') this.invalid.push(fault.message)
      return err({ kind: fault.kind, reason: fault.message })
    }
  }

  #opened<Name extends keyof EtcdStreams>(
    network: EtcdNetwork,
    first: Parameters<EtcdStreams[Name]>[0],
    received: (response: ReturnType<EtcdStreams[Name]>) => void,
    ended: (fault: CallFault) => void,
  ): { close(): void } {
    let isOpen = true
    let arriving = Promise.resolve()
    const later = (to: 'etcd' | 'client', work: () => void): void => {
      arriving = arriving.then(() => network.carried(to)).then(() => (isOpen ? work() : undefined))
    }
    const end = (fault: CallFault): void => later('client', () => ended(fault))
    // As in `#called`.
    const send = (response: WatchResponse | ReturnType<EtcdStreams['leaseKeepAlive']>): void =>
      later('client', () => received(response as ReturnType<EtcdStreams[Name]>))
    let watcher: Watcher | undefined
    later('etcd', () => {
      if (network.isLost()) return end(unanswered.error)
      if ('createRequest' in first) {
        const { key, rangeEnd, startRevision } = first.createRequest
        watcher = { from: key, until: rangeEnd, send, end }
        this.#watch(watcher, startRevision)
      } else send(this.#keptAlive(first.ID))
    })
    const close = (): void => {
      isOpen = false
      if (watcher !== undefined) this.#watchers.delete(watcher)
    }
    return { close }
  }

  #watch(watcher: Watcher, startRevision: number): void {
    const response = { ...this.#headed, canceled: false, cancelReason: '', events: [] }
    if (startRevision <= this.#compacted) {
      watcher.send({ ...response, canceled: true, cancelReason: 'compacted' })
      return
    }
    this.#watchers.add(watcher)
    const events = this.#history.filter(({ revision, kv }) => revision >= startRevision && isWithin(watcher, kv))
    watcher.send({ ...response, events })
  }

  #range({ key, rangeEnd, limit = 0, keysOnly = false }: RangeRequest): RangeResponse {
    if (key === '') throw new Refusal('invalid', 'etcdserver: key is not provided')
    const found = [...this.#keys.keys()].filter((each) => isIn(each, key, rangeEnd)).sort()
    const most = limit > 0 ? limit : found.length
    return { ...this.#headed, kvs: found.slice(0, most).map((each) => this.#pair(each, keysOnly)) }
  }

  #pair(key: string, keysOnly = false): KeyValue {
    const kept = this.#keys.get(key)
    const value = keysOnly || kept === undefined ? Buffer.alloc(0) : kept.value
    return { key: Buffer.from(key), value, modRevision: kept?.modRevision ?? this.#revision, lease: kept?.lease ?? 0 }
  }

  #transaction(request: TxnRequest): TxnResponse {
    checkOperations(request)
    for (const branch of [request.success, request.failure]) checkKeys(branch)
    if (bytesOf(request) > requestMost_bytes) throw new Refusal('tooLarge', 'etcdserver: request is too large')
    const isPutting = [...request.success, ...request.failure].some(({ requestPut }) => requestPut !== undefined)
    if (this.isFull && isPutting) throw new Refusal('full', 'etcdserver: mvcc: database space exceeded')
    this.#checkLeases(request)
    const changes: Change[] = []
    const response = this.#carriedOut(request, changes)
    this.#changed(changes)
    if (isPutting && this.isFilling) {
      this.isFilling = false
      this.isFull = true
      throw new Refusal('full', 'etcdserver: mvcc: database space exceeded')
    }
    return { ...response, ...this.#headed }
  }

  #carriedOut({ compare, success, failure }: TxnRequest, changes: Change[]): TxnResponse {
    const succeeded = compare.every((each) => this.#holds(each))
    const responses = (succeeded ? success : failure).map((operation) => this.#operated(operation, changes))
    return { ...this.#headed, succeeded, responses }
  }

  #operated({ requestRange, requestPut, requestDeleteRange, requestTxn }: RequestOp, changes: Change[]): ResponseOp {
    if (requestRange) return { responseRange: this.#range(requestRange) }
    if (requestTxn) return { responseTxn: this.#carriedOut(requestTxn, changes) }
    if (requestPut) {
      const { key, value, lease = 0 } = requestPut
      const version = (this.#keys.get(key)?.version ?? 0) + 1
      this.heard(key, Buffer.from(value))
      this.#keys.set(key, { value: Buffer.from(value), modRevision: this.#revision + 1, version, lease })
      changes.push({ revision: this.#revision + 1, type: put, kv: this.#pair(key) })
    }
    if (requestDeleteRange) this.#delete(requestDeleteRange.key, requestDeleteRange.rangeEnd, changes)
    return {}
  }

  #delete(from: string, until: string | undefined, changes: Change[]): void {
    for (const key of [...this.#keys.keys()].filter((each) => isIn(each, from, until))) {
      this.#keys.delete(key)
      const kv = { key: Buffer.from(key), value: Buffer.alloc(0), modRevision: this.#revision + 1, lease: 0 }
      changes.push({ revision: this.#revision + 1, type: eventDelete, kv })
    }
  }

  #changed(changes: readonly Change[]): void {
    if (changes.length === 0) return
    this.#revision += 1
    this.#history.push(...changes)
    for (const watcher of this.#watchers) {
      const events = changes.filter(({ kv }) => isWithin(watcher, kv))
      if (events.length > 0) watcher.send({ ...this.#headed, canceled: false, cancelReason: '', events })
    }
  }

  #holds({ target, key, version = 0, modRevision = 0, value }: Compare): boolean {
    const kept = this.#keys.get(key)
    if (target === compareVersion) return (kept?.version ?? 0) === version
    if (target === compareRevision) return (kept?.modRevision ?? 0) === modRevision
    return target === compareValue && kept !== undefined && kept.value.equals(value ?? Buffer.alloc(0))
  }

  #compact(revision: number) {
    if (revision <= this.#compacted || revision > this.#revision) throw new Refusal('compacted', 'mvcc: compacted')
    this.#compacted = revision
    this.#history = this.#history.filter((change) => change.revision > revision)
    return this.#headed
  }

  #checkLeases({ success, failure }: TxnRequest): void {
    for (const { requestPut } of [...success, ...failure]) {
      const lease = requestPut?.lease ?? 0
      if (lease !== 0 && !this.#leases.has(lease)) throw new Refusal('refused', 'etcdserver: requested lease not found')
    }
  }

  #grant(id: number, TTL: number) {
    if (this.isFull) throw new Refusal('full', 'etcdserver: mvcc: database space exceeded')
    if (this.#leases.has(id)) throw new Refusal('refused', 'etcdserver: lease already exists')
    this.#leases.set(id, { TTL, timer: this.#ending(id, TTL) })
    return { ...this.#headed, TTL }
  }

  #ending(id: number, TTL: number): NodeJS.Timeout {
    return setTimeout(() => this.#leases.has(id) && this.#revoke(id), TTL * 1000).unref()
  }

  #keptAlive(id: number) {
    const lease = this.#leases.get(id)
    if (lease === undefined) return { ...this.#headed, TTL: 0 }
    clearTimeout(lease.timer)
    lease.timer = this.#ending(id, lease.TTL)
    return { ...this.#headed, TTL: lease.TTL }
  }

  #revoke(id: number) {
    const lease = this.#leases.get(id)
    if (lease === undefined) throw new Refusal('refused', 'etcdserver: requested lease not found')
    clearTimeout(lease.timer)
    this.#leases.delete(id)
    const changes: Change[] = []
    for (const [key, kept] of [...this.#keys]) if (kept.lease === id) this.#delete(key, undefined, changes)
    this.#changed(changes)
    return this.#headed
  }
}

/** As `EtcdClient` waits: what it has given up may be carried out later. */
function beforeDeadline<Response>(
  response: Promise<Result<Response, CallFault>>,
): Promise<Result<Response, CallFault>> {
  return new Promise((resolve, reject) => {
    const deadline = setTimeout(() => resolve(unanswered), deadline_ms)
    response.finally(() => clearTimeout(deadline)).then(resolve, reject)
  })
}

const unanswered = err<CallFault>({ kind: 'unavailable', reason: 'it was not answered' })

function isIn(key: string, from: string, until: string | undefined): boolean {
  return until === undefined ? key === from : key >= from && key < until
}

function isWithin({ from, until }: Watcher, { key }: KeyValue): boolean {
  return isIn(key.toString(), from, until)
}

function checkOperations({ compare, success, failure }: TxnRequest): void {
  if (Math.max(compare.length, success.length, failure.length) > operationsMost)
    throw new Refusal('invalid', 'etcdserver: too many operations in txn request')
  for (const { requestTxn } of [...success, ...failure]) if (requestTxn) checkOperations(requestTxn)
}

/** The keys that are put by operations, of which none may be put twice or deleted beside that. */
function checkKeys(operations: readonly RequestOp[]): ReadonlySet<string> {
  const keys = new Set<string>()
  for (const { requestPut, requestTxn } of operations) {
    const added = requestPut ? [requestPut.key] : requestTxn ? bothBranches(requestTxn) : []
    for (const key of added) {
      if (key === '') throw new Refusal('invalid', 'etcdserver: key is not provided')
      if (keys.has(key)) throw new Refusal('invalid', 'etcdserver: duplicate key given in txn request')
      keys.add(key)
    }
  }
  for (const { requestDeleteRange } of operations) {
    if (requestDeleteRange && [...keys].some((key) => isIn(key, requestDeleteRange.key, requestDeleteRange.rangeEnd)))
      throw new Refusal('invalid', 'etcdserver: duplicate key given in txn request')
  }
  return keys
}

/** Of a transaction one branch is carried out, so both may put the same key. */
function bothBranches({ success, failure }: TxnRequest): Iterable<string> {
  return new Set([...checkKeys(success), ...checkKeys(failure)])
}

function bytesOf({ success, failure }: TxnRequest): number {
  return [...success, ...failure].reduce(
    (sum, { requestPut, requestTxn }) => sum + (requestPut?.value.length ?? 0) + (requestTxn ? bytesOf(requestTxn) : 0),
    0,
  )
}
