import { err, ok, type Result } from '../../result.js'
import type { Appended, LogRecord, LogSequence } from '../wal/record-log.js'
import { descriptionKey } from './cluster-state.js'
import {
  type Engine,
  type EngineUnavailable,
  type Extent,
  type LogName,
  type Offer,
  type ReadRefusal,
  recordMax_bytes,
} from './engine.js'
import { type CallFault, type EtcdCalls, EtcdClient, type EtcdSettings, unavailable } from './etcd-client.js'
import {
  type Calls,
  type Compare,
  compareEqual,
  compareValue,
  compareVersion,
  type KeyValue,
  type RequestOp,
  type ResponseOp,
  type TxnRequest,
} from './etcd-protocol.js'
import { KeyWatch } from './key-watch.js'
import { nodesKey } from './node-facts.js'

/** The digits of a sequence in a key: fixed, so that keys are in the order of their sequences. */
const digits = 15

/** The records of a first read, and of any: their size is known only after a read. */
const readFirst = 16
const readMost = 512
const readEnough_bytes = 2 ** 20

const operationsMost = 60

/**
 * Logs in etcd. `<prefix>/head/<log>` is the sequence of a log's last record, and `<prefix>/log/<log>/<sequence>` a record.
 * A record is put when the head is the sequence that it is expected behind. To compare the head, not the absence of the
 * record, also fences a writer that has slept through a truncation. Records are keys of their own, not versions of one:
 * nobody's compaction can lose one.
 */
export class EtcdEngine implements Engine {
  readonly #client: EtcdCalls
  readonly #prefix: string
  /** The highest revision of etcd in any response. */
  #revision = 0
  #compacted = 0
  #readAtOnce = readFirst

  /** Throws when a file of the settings can not be read. */
  constructor(settings: EtcdSettings, prefix: string, client: EtcdCalls = new EtcdClient(settings)) {
    this.#client = client
    this.#prefix = prefix
  }

  async append(offers: readonly Offer[]): Promise<Result<readonly Appended[], EngineUnavailable>> {
    const appending = offers.map((offer) => ({ requestTxn: this.#appending(offer) }))
    // etcd counts what is put against its quota, but not what is put by nested transactions.
    const success = [...appending, this.#counted]
    const called = await this.#call('txn', { compare: [], success, failure: [] })
    if (called.ok) {
      return ok(offers.map((offer, at) => appendedOf(offer, called.value.responses[at]?.responseTxn)))
    }
    const { kind, reason } = called.error
    if (kind === 'full') return this.#taken(offers)
    if (kind !== 'tooLarge' && kind !== 'invalid') return err({ kind: 'unavailable', reason })
    if (offers.length === 1) {
      return ok([err(kind === 'invalid' ? { kind, reason } : { kind, limit_bytes: recordMax_bytes })])
    }
    // Together they exceed a limit of etcd, or one of them is invalid: each is sent alone.
    const alone: Appended[] = []
    for (const offer of offers) {
      const outcome = await this.append([offer])
      if (!outcome.ok) return outcome
      alone.push(...outcome.value)
    }
    return ok(alone)
  }

  /** The outcomes of a request that etcd has refused for lack of room: a member may say so although the request was carried out. */
  async #taken(offers: readonly Offer[]): Promise<Result<readonly Appended[], EngineUnavailable>> {
    const success = offers.map((offer) => ({ requestTxn: { ...this.#appending(offer), success: [] } }))
    const called = await this.#call('txn', { compare: [], success, failure: [] })
    if (!called.ok) return err(unavailable(called.error))
    return ok(
      offers.map((offer, at) => {
        const outcome = called.value.responses[at]?.responseTxn
        return outcome?.succeeded ? err({ kind: 'etcdFull' }) : appendedOf(offer, outcome)
      }),
    )
  }

  /** Writes a key without meaning, to find out whether records would be taken now. */
  async probe(): Promise<Result<undefined, EngineUnavailable | { readonly kind: 'full' }>> {
    const called = await this.#call('txn', { compare: [], success: [this.#counted], failure: [] })
    if (called.ok) return ok(undefined)
    return err(called.error.kind === 'full' ? { kind: 'full' } : unavailable(called.error))
  }

  async read(log: LogName, after: LogSequence): Promise<Result<readonly LogRecord[], ReadRefusal>> {
    const key = this.#recordKey(log, (after + 1) as LogSequence)
    const called = await this.#call('range', { key, rangeEnd: this.#endOf(log), limit: this.#readAtOnce })
    if (!called.ok) return err(unavailable(called.error))
    const records = called.value.kvs.map(recordOf)
    const bytes = records.reduce((sum, record) => sum + record.bytes.length, 0)
    if (bytes < readEnough_bytes) this.#readAtOnce = Math.min(2 * this.#readAtOnce, readMost)
    else this.#readAtOnce = Math.max(readFirst, Math.floor(this.#readAtOnce / 2))
    const [first] = records
    if (first !== undefined && first.sequence !== after + 1) return err({ kind: 'behind', first: first.sequence })
    return ok(records)
  }

  async extent(log: LogName): Promise<Result<Extent | undefined, EngineUnavailable>> {
    const called = await this.#call('txn', {
      compare: [],
      success: [
        { requestRange: { key: this.#headKey(log) } },
        // Keys come in their order.
        { requestRange: { key: this.#logKey(log), rangeEnd: this.#endOf(log), limit: 1, keysOnly: true } },
      ],
      failure: [],
    })
    if (!called.ok) return err(unavailable(called.error))
    const [head, first] = called.value.responses.map((response) => response.responseRange?.kvs[0])
    if (head === undefined) return ok(undefined)
    const sequence = first === undefined ? 0 : sequenceOf(first)
    return ok({ first: sequence as LogSequence, last: Number(head.value.toString()) as LogSequence })
  }

  async truncate(upTo: ReadonlyMap<LogName, LogSequence>): Promise<Result<undefined, EngineUnavailable>> {
    for (const part of inParts([...upTo])) {
      const success = part.map(([log, last]): RequestOp => {
        const rangeEnd = this.#recordKey(log, (last + 1) as LogSequence)
        return { requestDeleteRange: { key: this.#logKey(log), rangeEnd } }
      })
      const called = await this.#call('txn', { compare: [], success, failure: [] })
      if (!called.ok) return err(unavailable(called.error))
    }
    return ok(undefined)
  }

  async compact(): Promise<Result<undefined, EngineUnavailable>> {
    const revision = this.#revision
    if (revision <= this.#compacted) return ok(undefined)
    const called = await this.#call('compact', { revision })
    // Another node may have compacted further.
    if (!called.ok && called.error.kind !== 'compacted') return err(unavailable(called.error))
    this.#compacted = revision
    return ok(undefined)
  }

  async begin(
    description: string,
    after: ReadonlyMap<LogName, LogSequence>,
    nodes: string,
  ): Promise<Result<boolean, EngineUnavailable>> {
    const key = this.#descriptionKey
    const setting = `${this.#prefix}/${nodesKey}`
    const called = await this.#call('txn', {
      compare: [{ result: compareEqual, target: compareVersion, key, version: 0 }],
      success: [
        { requestPut: { key, value: Buffer.from(description) } },
        { requestPut: { key: setting, value: Buffer.from(nodes) } },
        // The keys of an earlier beginning are removed.
        ...['log', 'checkpoints'].map((name) => ({
          requestDeleteRange: { key: `${this.#prefix}/${name}/`, rangeEnd: `${this.#prefix}/${name}0` },
        })),
        ...inParts([...after]).map((part) => ({ requestTxn: this.#heads(part) })),
      ],
      failure: [],
    })
    return called.ok ? ok(called.value.succeeded) : err(unavailable(called.error))
  }

  watchHeads(changed: (last: ReadonlyMap<LogName, LogSequence>) => void): { stop(): void } {
    return new KeyWatch(this.#client, `${this.#prefix}/head/`, (keys) => {
      changed(new Map(Array.from(keys, ([log, value]) => [nameOf(log), Number(value.toString()) as LogSequence])))
    })
  }

  close(): void {
    this.#client.close()
  }

  async #call<Name extends 'range' | 'txn' | 'compact'>(
    name: Name,
    request: Parameters<Calls[Name]>[0],
  ): Promise<Result<ReturnType<Calls[Name]>, CallFault>> {
    const called = await this.#client.call(name, request)
    if (called.ok) this.#revision = Math.max(this.#revision, called.value.header.revision)
    return called
  }

  #heads(part: readonly (readonly [LogName, LogSequence])[]): TxnRequest {
    const success = part.map(([log, last]) => ({ requestPut: { key: this.#headKey(log), value: textOf(last) } }))
    return { compare: [], success, failure: [] }
  }

  #appending({ log, expected, bytes }: Offer) {
    const sequence = (expected + 1) as LogSequence
    const head = this.#headKey(log)
    const key = this.#recordKey(log, sequence)
    const isBehind: Compare = { result: compareEqual, target: compareValue, key: head, value: textOf(expected) }
    return {
      compare: [isBehind],
      success: [{ requestPut: { key: head, value: textOf(sequence) } }, { requestPut: { key, value: bytes } }],
      failure: [{ requestRange: { key: head } }, { requestRange: { key } }],
    }
  }

  get #counted(): RequestOp {
    return { requestPut: { key: `${this.#prefix}/counted`, value: new Uint8Array() } }
  }

  get #descriptionKey(): string {
    return `${this.#prefix}/${descriptionKey}`
  }

  #headKey(log: LogName): string {
    return `${this.#prefix}/head/${log}`
  }

  #logKey(log: LogName): string {
    return `${this.#prefix}/log/${log}/`
  }

  #recordKey(log: LogName, sequence: LogSequence): string {
    return `${this.#logKey(log)}${String(sequence).padStart(digits, '0')}`
  }

  /** The first key behind all keys of a log: `0` is the character after the slash. */
  #endOf(log: LogName): string {
    return `${this.#prefix}/log/${log}0`
  }
}

function appendedOf({ expected, isOwn }: Offer, outcome: ResponseOp['responseTxn']): Appended {
  if (outcome === undefined) throw new Error('etcd gave fewer outcomes than there were offers')
  const sequence = (expected + 1) as LogSequence
  if (outcome.succeeded) return ok(sequence)
  const [head, standing] = outcome.responses.map((response) => response.responseRange?.kvs[0])
  if (standing !== undefined && isOwn(standing.value)) return ok(sequence)
  return err({ kind: 'fenced', last: Number(head?.value.toString() ?? 0) as LogSequence })
}

/** Splits a list for several requests: etcd takes at most 128 operations in one by default. */
function inParts<Thing>(things: readonly Thing[]): readonly (readonly Thing[])[] {
  const parts = Math.ceil(things.length / operationsMost)
  return Array.from({ length: parts }, (_, part) => things.slice(part * operationsMost, (part + 1) * operationsMost))
}

function recordOf(pair: KeyValue): LogRecord {
  return { sequence: sequenceOf(pair), bytes: pair.value }
}

function sequenceOf({ key }: KeyValue): LogSequence {
  return Number(key.subarray(-digits).toString()) as LogSequence
}

function nameOf(log: string): LogName {
  return log === 'control' ? log : Number(log)
}

function textOf(sequence: LogSequence): Buffer {
  return Buffer.from(String(sequence))
}
