import { isGivenUp, LogFenced, StorageFull } from '../../faults.js'
import { readCharacter_bytes } from '../../model/expression/expressions.js'
import type { AvailabilitySubscription } from '../../model/registration/availability.js'
import type { Registration } from '../../model/registration/registration.js'
import { expressionsOf } from '../../model/subscription/expression-texts.js'
import type { Subscription } from '../../model/subscription/subscription.js'
import { errorFacts, type Log } from '../../observe/log/log.js'
import { err, ok, type Result } from '../../result.js'
import type { Unavailable } from '../front-end/unavailable.js'

/** The limit of items of one kind, in number and in memory. */
export class Capacity {
  readonly #max: number
  #number = 0
  #bytes = 0

  /** Room for this many items, which may take 1 KiB each on average. */
  constructor(max: number) {
    this.#max = max
  }

  /** Whether an item of this size could be added, replacing one that takes `instead_bytes`. */
  hasRoom(bytes: number, instead_bytes?: number): boolean {
    const number = instead_bytes === undefined ? this.#number + 1 : this.#number
    return number <= this.#max && this.#bytes + bytes - (instead_bytes ?? 0) <= this.#max * average_bytes
  }

  add(bytes: number): void {
    this.#number += 1
    this.#bytes += bytes
  }

  remove(bytes: number): void {
    this.#number -= 1
    this.#bytes -= bytes
  }
}

const average_bytes = 1024

/**
 * The result of storing something: that the disk has no room for it is an error, with a line, and so is that another node of a
 * cluster has become the coordinator, or that the process ends before it is known whether it was stored; every other failure is a fault.
 */
export async function resultOf(
  commit: Promise<void>,
  log: Log,
  op: string,
  message: string,
): Promise<Result<undefined, Unavailable>> {
  try {
    await commit
    return ok(undefined)
  } catch (fault) {
    if (fault instanceof LogFenced) return err({ kind: 'coordinatorAway' })
    if (isGivenUp(fault)) return err({ kind: 'outcomeUnknown' })
    if (!(fault instanceof StorageFull)) throw fault
    log.error(op, message, errorFacts(fault))
    return err({ kind: 'storageFull' })
  }
}

/** The size of an entry of an index, without its texts. */
const entry_bytes = 64

/** About what a subscription takes in memory, of each thread that knows it. */
export function sizeOfSubscription(subscription: Subscription): number {
  const known = sizes.get(subscription)
  if (known !== undefined) return known
  const size = countedSize(subscription)
  sizes.set(subscription, size)
  return size
}

/** A subscription is counted when there has to be room for it, again when it is held, and when it goes: all of a large one takes long to read. */
const sizes = new WeakMap<Subscription, number>()

function countedSize(subscription: Subscription): number {
  const { selectors, attributes, reference, onChange = [], scopes, terms } = subscription
  const entries = selectors.length * Math.max(1, onChange.length)
  const texts = lengthOf(attributes) + lengthOf(onChange) + reference.length
  const shapes = scopes.length === 0 ? 0 : JSON.stringify(scopes).length
  const more = terms === undefined ? 0 : JSON.stringify(terms).length
  return entries * entry_bytes + texts + lengthOfSelectors(selectors) + shapes + more + sizeOfExpressions(subscription)
}

/** The memory of compiled expressions: a thread has room for three times what is counted here. */
function sizeOfExpressions(subscription: Subscription): number {
  let size = 0
  for (const text of expressionsOf(subscription)) size += (text.length * readCharacter_bytes) / 3
  return Math.ceil(size)
}

/** About what an availability subscription takes in memory. */
export function sizeOfAvailability({ selectors, attributes, reference }: AvailabilitySubscription): number {
  return selectors.length * entry_bytes + lengthOf(attributes) + reference.length + lengthOfSelectors(selectors)
}

/** About what a registration takes in memory, of each thread that knows it. */
export function sizeOfRegistration({ contexts, terms }: Pick<Registration, 'contexts' | 'terms'>): number {
  let bytes = terms === undefined ? 0 : entry_bytes + terms.description.length
  for (const { entities, attributes, provider } of contexts) {
    bytes += provider.length + entities.length * Math.max(1, attributes.length) * entry_bytes
    for (const { id, type } of entities) bytes += id.length + type.length
    for (const { name, type } of attributes) bytes += name.length + type.length
  }
  return bytes
}

function lengthOf(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + text.length, 0)
}

function lengthOfSelectors(selectors: Subscription['selectors']): number {
  return selectors.reduce((sum, { id, type = '' }) => {
    const text = id.kind === 'exact' ? id.id : id.kind === 'pattern' ? id.pattern : ''
    return sum + text.length + type.length
  }, 0)
}
