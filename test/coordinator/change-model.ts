import {
  begun,
  type ChangeEvent,
  type ChangeState,
  nextOfChange,
} from '../../src/broker/coordinator/change-protocol.js'
import {
  decided,
  isCommitted,
  isSameProposal,
  isUndecided,
  type Provisional,
  proposed,
  verdictOn,
  versionsOf,
} from '../../src/model/subscription/decisions.js'
import type { Subscription, SubscriptionId } from '../../src/model/subscription/subscription.js'
import { nth } from '../delivery/given.js'
import { subscription } from '../given-subscription.js'

/** A number below another one, by chance. */
export type Chance = (below: number) => number

/** A record of the metadata log: the subscription from now on, its end, or an election. */
type Entry =
  | { readonly kind: 'put'; readonly record: Subscription }
  | { readonly kind: 'remove'; readonly id: SubscriptionId }
  | { readonly kind: 'election' }

/** A partition has one entity, whose value each update makes greater by one. */
interface Partition {
  owner: number
  /** Up to where the metadata log is in force, as the log of the partition says. */
  metadataVersion: number
  readonly outbox: {
    readonly id: SubscriptionId
    readonly value: number
    readonly provisional: Provisional | undefined
  }[]
}

interface Node {
  isUp: boolean
  /** How many records of the metadata log are in force here. */
  metadataVersion: number
  record: Subscription | undefined
  /** What the courier knows of it, which hears of what is decided a little later, and of holds at once. */
  recipient: Subscription | undefined
  isHeld: boolean
}

/** A change that a node carries out: another one may coordinate by now. */
interface Running {
  readonly node: number
  readonly record: Subscription
  state: ChangeState
  /** Up to where the log has to be in force everywhere. */
  position: number
}

/** What can be made wrong on purpose: the invariants have to find each of them. */
export type Mistake = 'no round' | 'no hold' | 'nothing is void' | 'successor forgets'

const partitions = 2

/** A cluster with one subscription, which goes on step by step, by the rules of the broker itself. */
export class ChangeModel {
  /** What was found to be wrong. */
  readonly wrong: string[] = []
  readonly results = { success: 0, refused: 0, withdrawnBySuccessor: 0, sent: 0 }
  readonly #chance: Chance
  readonly #mistake: Mistake | undefined
  readonly #log: Entry[] = [{ kind: 'election' }]
  readonly #nodes: readonly Node[]
  readonly #partitions: readonly Partition[]
  /** Of each partition the record by which each update was matched, and what was sent of it. */
  readonly #updates: { readonly value: number; readonly record: Subscription | undefined }[][] = [[], []]
  readonly #sent: { readonly id: SubscriptionId; readonly value: number }[][] = [[], []]
  #running: Running | undefined
  #lost: Running[] = []
  #coordinator = 0
  /** The addresses of the versions that were answered with success, in their order; `undefined` for an end. */
  readonly #answered: (string | undefined)[] = []

  constructor(chance: Chance, mistake?: Mistake) {
    this.#chance = chance
    this.#mistake = mistake
    this.#nodes = Array.from({ length: 3 }, () => {
      return { isUp: true, metadataVersion: 1, record: undefined, recipient: undefined, isHeld: false }
    })
    this.#partitions = Array.from({ length: partitions }, (_, number) => ({
      owner: number,
      metadataVersion: 1,
      outbox: [],
    }))
  }

  /** One of the things that may happen next. */
  step(): void {
    const node = nth(this.#nodes, this.#chance(this.#nodes.length))
    const number = this.#chance(partitions)
    const kind = this.#chance(100)
    if (kind < 25) this.#update(number)
    else if (kind < 45) this.#follow(node)
    else if (kind < 55) this.#hear(node)
    else if (kind < 70) this.#send(number)
    else if (kind < 75) this.#heartbeat(number)
    else if (kind < 92) this.#goOn()
    else if (kind < 94) node.isUp = !node.isUp
    else if (kind < 96) this.#takeOver(this.#chance(this.#nodes.length))
    else if (kind < 97) this.#move(number)
    else if (kind < 98) this.#replaceCourier(node)
    else if (this.#lost.length > 0) this.#advance(nth(this.#lost, this.#chance(this.#lost.length)))
  }

  /** Lets everything that is under way come to its end, then checks what came of it. */
  finish(): void {
    for (const node of this.#nodes) node.isUp = true
    for (let rounds = 0; rounds < 500 && !this.#isSettled; rounds += 1) {
      for (const node of this.#nodes) {
        this.#follow(node)
        this.#hear(node)
      }
      for (let number = 0; number < partitions; number += 1) {
        this.#heartbeat(number)
        this.#send(number)
      }
      for (const running of [this.#running, ...this.#lost]) if (running !== undefined) this.#advance(running)
    }
    if (!this.#isSettled) this.wrong.push('it does not come to an end')
    else for (let number = 0; number < partitions; number += 1) this.#check(number)
  }

  get #isSettled(): boolean {
    const isQuiet = this.#running === undefined && this.#partitions.every(({ outbox }) => outbox.length === 0)
    return (
      isQuiet && this.#nodes.every(({ metadataVersion, isHeld }) => metadataVersion === this.#log.length && !isHeld)
    )
  }

  /** What was decided is what was sent, in order; of a subscription that has ended, what waited then was dropped. */
  #check(number: number): void {
    const expected = nth(this.#updates, number).flatMap(({ value, record }) => {
      const version = record && this.#decidedVersion(record)
      return version && matches(version, value) ? [{ id: version.id, value }] : []
    })
    const sent = nth(this.#sent, number)
    const ended = new Set(this.#log.map((entry) => (entry.kind === 'remove' ? entry.id : undefined)))
    const due = expected.filter(({ id, value }) => !ended.has(id) || sent.some((other) => other.value === value))
    const texts = [due, sent].map((all) => all.map(({ value }) => value).join(' '))
    if (texts[0] !== texts[1]) this.wrong.push(`of partition ${number} ${texts[0]} was to be sent, and ${texts[1]} was`)
  }

  /** The version that holds for an update which was matched by a record, as the log says in the end. */
  #decidedVersion(record: Subscription): Subscription | undefined {
    if (!isUndecided(record)) return record
    const at = this.#log.findIndex((entry) => entry.kind === 'put' && entry.record === record)
    const decision = this.#log.slice(at + 1).find(({ kind }) => kind !== 'election')
    if (decision?.kind !== 'put') return undefined
    const { standing, proposed: next } = versionsOf(record)
    return (isCommitted(decision.record) ? next : standing)?.subscription
  }

  #update(number: number): void {
    const partition = nth(this.#partitions, number)
    const { isUp, record, metadataVersion } = nth(this.#nodes, partition.owner)
    if (!isUp) return
    const updates = nth(this.#updates, number)
    const value = updates.length + 1
    const { standing, proposed: next } = record === undefined ? {} : versionsOf(record)
    for (const version of [standing, next]) {
      if (version === undefined || !matches(version.subscription, value)) continue
      partition.outbox.push({ id: version.subscription.id, value, provisional: version.provisional })
    }
    partition.metadataVersion = Math.max(partition.metadataVersion, metadataVersion)
    updates.push({ value, record })
    const acknowledged = this.#answered.at(-1)
    const known = [standing, next].map((version) => version?.subscription.reference)
    const isEnding = record?.decisions?.proposal?.kind === 'remove' || record === undefined || known[0] === undefined
    if (acknowledged === undefined ? !isEnding : !known.includes(acknowledged)) {
      this.wrong.push(`${value} is matched by ${known.join(' and ')} after ${String(acknowledged)} was answered`)
    }
  }

  /** The next record of the metadata log comes into force at a node. */
  #follow(node: Node): void {
    const entry = this.#log[node.metadataVersion]
    if (!node.isUp || entry === undefined) return
    // The courier is told in the order of the log, and has obeyed a hold before the partitions know of what is proposed.
    if (entry.kind === 'put' && isUndecided(entry.record)) {
      this.#hear(node)
      node.isHeld = this.#mistake !== 'no hold'
    }
    node.metadataVersion += 1
    if (entry.kind !== 'election') node.record = entry.kind === 'put' ? entry.record : undefined
  }

  #hear(node: Node): void {
    if (!node.isUp || (node.record !== undefined && isUndecided(node.record))) return
    node.recipient = node.record
    node.isHeld = false
  }

  /** The thread of the courier dies: the next one begins with what its node has in force. */
  #replaceCourier(node: Node): void {
    const { record } = node
    this.#hear(node)
    if (record === undefined || !isUndecided(record)) return
    node.recipient = versionsOf(record).standing?.subscription
    node.isHeld = this.#mistake !== 'no hold'
  }

  /** The courier of the owner sends the first notice of a partition, or drops it. */
  #send(number: number): void {
    const { owner, outbox } = nth(this.#partitions, number)
    const { isUp, recipient, isHeld, record } = nth(this.#nodes, owner)
    const [first] = outbox
    if (!isUp || isHeld || first === undefined) return
    const { id, value, provisional } = first
    if (recipient?.id !== id) {
      if (record?.id !== id) outbox.shift() // It has ended.
      return
    }
    const verdict = provisional === undefined ? 'valid' : verdictOn(provisional, recipient.decisions, isHeld)
    outbox.shift()
    if (verdict === 'void' && this.#mistake !== 'nothing is void') return
    nth(this.#sent, number).push({ id, value })
    this.results.sent += 1
    const { reference } = recipient
    // An address that was answered once is of a version that was decided for, and none is used behind the response to the next one.
    if (this.#answered.lastIndexOf(reference) !== this.#answered.length - 1) {
      this.wrong.push(`${value} is sent to ${reference} after ${String(this.#answered.at(-1))} was answered`)
    }
  }

  /** A record of the log of a partition says how far its owner is. */
  #heartbeat(number: number): void {
    const partition = nth(this.#partitions, number)
    const { isUp, metadataVersion } = nth(this.#nodes, partition.owner)
    if (isUp) partition.metadataVersion = Math.max(partition.metadataVersion, metadataVersion)
  }

  /** The coordinator does the next thing of a change, or is asked for one. */
  #goOn(): void {
    const node = nth(this.#nodes, this.#coordinator)
    if (this.#running !== undefined) this.#advance(this.#running)
    else if (node.isUp && node.metadataVersion === this.#log.length && this.#chance(3) === 0) this.#ask(node)
  }

  #ask({ record }: Node): void {
    if (record !== undefined && isUndecided(record)) return
    const version = subscription({ throttling_ms: this.#chance(3) + 1 })
    const by = { ...version, reference: `http://receiver/${version.id}` }
    const isEnd = this.#chance(4) === 0
    const change =
      record === undefined
        ? proposed(by, { kind: 'create' })
        : proposed(record, isEnd ? { kind: 'remove' } : { kind: 'replace', by: { ...by, id: record.id } })
    this.#running = { node: this.#coordinator, record: change, state: begun, position: 0 }
  }

  #advance(running: Running): void {
    const node = nth(this.#nodes, running.node)
    const event = node.isUp ? this.#eventOf(running, node) : undefined
    if (event === undefined) return
    running.state = nextOfChange(running.state, event)
    // What is in the log comes into force by that, on each of several nodes.
    if (running.state.kind === 'enforcing') running.state = nextOfChange(running.state, { kind: 'done' })
    if (running.state.kind !== 'ended') return
    if (this.#running === running) this.#running = undefined
    this.#lost = this.#lost.filter((other) => other !== running)
    const { response } = running.state
    if ('ok' in response && response.ok) {
      this.#answered.push(decided(running.record, 'committed')?.reference)
      this.results.success += 1
    } else this.results.refused += 1
  }

  #eventOf(running: Running, node: Node): ChangeEvent | undefined {
    const { record, state } = running
    switch (state.kind) {
      case 'proposing': {
        const event = this.#lost.includes(running) ? ({ kind: 'away' } as const) : this.#append(running, record)
        running.position = this.#log.length
        return event
      }
      case 'asking':
        if (node.metadataVersion < running.position) return undefined
        if (this.#mistake === 'no round' || this.#isEverywhere(running.position)) return { kind: 'done' }
        return this.#chance(12) === 0 ? { kind: 'refused', error: { kind: 'notEverywhere' } } : undefined
      case 'composing':
        return this.#chance(8) === 0 ? { kind: 'refused', error: { kind: 'queryLate' } } : { kind: 'done' }
      case 'committing':
      case 'withdrawing': {
        if (!isSameProposal(node.record, record)) return { kind: 'away' }
        return this.#append(running, decided(record, state.kind === 'committing' ? 'committed' : 'withdrawn'))
      }
      case 'enforcing':
      case 'ended':
        return undefined
    }
  }

  /** Whoever does not coordinate any more is fenced. What is appended is in force here before it counts as appended. */
  #append({ node, record: { id } }: Running, record: Subscription | undefined): ChangeEvent {
    if (node !== this.#coordinator) return { kind: 'away' }
    this.#log.push(record === undefined ? { kind: 'remove', id } : { kind: 'put', record })
    this.#followAll(nth(this.#nodes, node))
    return { kind: 'done' }
  }

  #isEverywhere(position: number): boolean {
    const members = this.#nodes.filter(({ isUp }) => isUp)
    return [...members, ...this.#partitions].every(({ metadataVersion }) => metadataVersion >= position)
  }

  /** Another node coordinates, which has all of the log in force: it withdraws what is undecided. */
  #takeOver(number: number): void {
    const node = nth(this.#nodes, number)
    if (!node.isUp) return
    this.#log.push({ kind: 'election' })
    this.#followAll(node)
    this.#coordinator = number
    if (this.#running !== undefined) this.#lost.push(this.#running)
    const { record } = node
    // A change that this node has begun itself goes on: what it finds undecided waits for that.
    this.#running = this.#lost.find(
      (own) => own.node === number && own.state.kind !== 'proposing' && isSameProposal(record, own.record),
    )
    this.#lost = this.#lost.filter((own) => own !== this.#running)
    if (this.#running !== undefined || record === undefined || !isUndecided(record)) return
    if (this.#mistake === 'successor forgets') return
    const response = { ok: false, error: { kind: 'notEverywhere' } } as const
    this.#running = { node: number, record, state: { kind: 'withdrawing', response }, position: 0 }
    this.results.withdrawnBySuccessor += 1
  }

  #followAll(node: Node): void {
    while (node.metadataVersion < this.#log.length) this.#follow(node)
  }

  /** Another node owns a partition: it takes no turn before it has in force what the log of the partition says. */
  #move(number: number): void {
    const partition = nth(this.#partitions, number)
    const owner = this.#chance(this.#nodes.length)
    const node = nth(this.#nodes, owner)
    if (!node.isUp) return
    while (node.metadataVersion < partition.metadataVersion) this.#follow(node)
    partition.owner = owner
  }
}

/** Which values a version is notified of: the model keeps that where nothing else counts here. */
function matches({ throttling_ms }: Subscription, value: number): boolean {
  return value % throttling_ms === 0
}
