import type { Tenant } from '../../model/context/entity.js'
import { operatorGiven } from '../../model/context/operators.js'
import type { Change } from '../../model/subscription/change.js'
import type { BodyTerms, ShownChange } from '../../model/subscription/message.js'
import type { SubscriptionId } from '../../model/subscription/subscription.js'
import type { Milliseconds } from '../../time.js'
import { decodeToRead } from './large-record.js'
import { encodeEntity } from './record.js'

/** The head before both entities: a JSON array on a line of its own. Everything below is part of the format on disk. */
type StoredHead = readonly [
  kind: Change['kind'],
  tenant: string,
  changed: readonly string[],
  given: readonly (string | readonly [name: string, operator: string])[],
  isForced: 1 | 0,
  time: number,
  steps: number,
  /** The length of the text of the entity after the change; that of the one before it follows, unless the change created it. */
  entity: number,
]

/** The text that is stored for a change whose bodies are rendered later. */
export function encodeChange({ change, time, steps }: ShownChange): string {
  const { kind, tenant, entity, before, changed, given, isForced } = change
  const after = encodeEntity(entity)
  const names = given.map(givenName)
  const head: StoredHead = [kind, tenant, changed, names, isForced ? 1 : 0, time, steps, after.length]
  const was = before === undefined || kind !== 'put' ? '' : encodeEntity(before)
  return `${JSON.stringify(head)}\n${after}${was}`
}

/** Bodies show of a given value only whether it is an operation. */
function givenName(given: Change['given'][number]): StoredHead[3][number] {
  const { name } = given
  const operator = operatorGiven(given)
  return operator === undefined ? name : [name, operator]
}

/** The change that `encodeChange` wrote. */
export function decodeChange(text: string): ShownChange {
  const end = text.indexOf('\n')
  const [kind, tenant, changed, given, isForced, time, steps, length] = JSON.parse(text.slice(0, end)) as StoredHead
  if (end < 0 || !Number.isInteger(length)) throw new Error('it is no change')
  const entity = decodeToRead(text.slice(end + 1, end + 1 + length))
  const was = text.slice(end + 1 + length)
  const before = kind !== 'put' ? entity : was === '' ? undefined : decodeToRead(was)
  return {
    change: {
      ...{ kind, tenant: tenant as Tenant, entity, before, changed, isForced: isForced === 1 },
      given: given.map((each) =>
        typeof each === 'string' ? { name: each } : { name: each[0], value: { [each[1]]: 0 } },
      ),
    },
    time: time as Milliseconds,
    steps,
  }
}

/** The terms of a body, without the subscription's id. */
export type StoredTerms = readonly [
  attributes: readonly string[],
  notification: BodyTerms['notification'],
  onMetadata: 1 | 0,
]

/** Shorter texts are encoded as fast as they are looked up. */
const keptFrom_characters = 512

/** When the kept texts are longer together, all others are forgotten. */
const mostKept_characters = 2 ** 24

/** The texts of long terms, which each change that their subscription hears of would encode again. */
class TermsTexts {
  #texts = new WeakMap<BodyTerms['notification'], { readonly of: BodyTerms; readonly text: string }>()
  #characters = 0

  of(terms: BodyTerms): string {
    const { attributes, notification, onMetadata } = terms
    const kept = this.#texts.get(notification)
    if (kept?.of.attributes === attributes && kept.of.onMetadata === onMetadata) return kept.text
    const stored: StoredTerms = [attributes, notification, onMetadata ? 1 : 0]
    const text = JSON.stringify(stored)
    if (text.length >= keptFrom_characters) this.#keep(terms, text)
    return text
  }

  #keep(terms: BodyTerms, text: string): void {
    this.#characters += text.length
    if (this.#characters > mostKept_characters) {
      this.#texts = new WeakMap()
      this.#characters = text.length
    }
    this.#texts.set(terms.notification, { of: terms, text })
  }
}

const texts = new TermsTexts()

/** The JSON of {@link StoredTerms}. */
export function encodeTerms(terms: BodyTerms): string {
  return texts.of(terms)
}

export function heldTerms(id: SubscriptionId, [attributes, notification, onMetadata]: StoredTerms): BodyTerms {
  return { id, attributes, notification, onMetadata: onMetadata === 1 }
}
