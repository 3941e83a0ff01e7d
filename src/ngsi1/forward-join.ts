import type { GivenAttribute, UpdateItem } from '../context/update.js'
import type { StatusText } from '../exchange.js'
import type { Share, Sharing } from '../registration/forward-update.js'
import { type ElementResponse, type Fate, responseOf, type UpdateAsked } from './carry-out.js'
import { type Gap, isAbout } from './forward-gaps.js'
import type { Settlement } from './forward-settle.js'
import { okStatus, statusOf } from './status.js'

/** A gap of which somebody is registered for a part, and to whom it goes. */
interface Shared {
  readonly gap: Gap
  readonly sharing: Sharing
}

/** The gaps that providers are asked to fill, by the item of the local update that left them. */
export function sharedGaps(gaps: readonly Gap[], sharings: readonly Sharing[]): ReadonlyMap<UpdateItem, Shared> {
  const shared = new Map<UpdateItem, Shared>()
  for (const [at, gap] of gaps.entries()) {
    const sharing = sharings[at]
    if (sharing && sharing.shares.length > 0) shared.set(gap.item, { gap, sharing })
  }
  return shared
}

/** The responses to all elements: as without providers, but for the entities that they were asked about [subscriptions 8.3]. */
export function joined(
  { elements, action }: UpdateAsked,
  fates: readonly Fate[],
  shared: ReadonlyMap<UpdateItem, Shared>,
  settlements: ReadonlyMap<Share, readonly Settlement[]>,
): readonly ElementResponse[] {
  const [inPlace, atEnd]: [ElementResponse[], ElementResponse[]] = [[], []]
  for (const [at, element] of elements.entries()) {
    const fate = fates[at]
    if (fate === undefined) throw new Error('the broker has not answered every element of an update')
    if ('status' in fate) {
      inPlace.push(fate)
      continue
    }
    for (const item of fate.items) {
      const there = shared.get(item)
      if (there === undefined) {
        inPlace.push(responseOf(item, element, action))
        for (const lack of fate.missing.filter(isAbout(item))) atEnd.push(responseOf(lack, element, action))
      } else {
        const groups = groupsOf(there, settlements)
        inPlace.push(...groups.inPlace)
        atEnd.push(...groups.atEnd)
      }
    }
  }
  return [...inPlace, ...atEnd]
}

function groupsOf({ gap, sharing }: Shared, settlements: ReadonlyMap<Share, readonly Settlement[]>): Groups {
  const groups = new Groups(gap.item)
  groups.add({ status: okStatus, attributes: gap.done ?? [] })
  for (const share of sharing.shares) for (const settlement of settlements.get(share) ?? []) groups.add(settlement)
  groups.add({ status: statusOf(404, gap.id), attributes: sharing.unfound })
  return groups
}

/** Attributes of one entity by what became of them, success first: one response for each status. */
class Groups {
  readonly #head: Pick<ElementResponse, 'id' | 'type' | 'isPattern'>
  readonly #groups = new Map<string, { readonly status: StatusText; readonly attributes: GivenAttribute[] }>()

  constructor({ id, type }: UpdateItem) {
    this.#head = { id, type, isPattern: false }
  }

  add({ status, attributes }: Settlement): void {
    const key = `${status.code} ${status.details ?? ''}`
    const group = this.#groups.get(key) ?? { status, attributes: [] }
    this.#groups.set(key, group)
    for (const attribute of attributes) group.attributes.push(attribute)
  }

  get inPlace(): readonly ElementResponse[] {
    const all = this.#responses
    return all.length === 1 ? all : all.filter(({ status }) => !this.#isMissing(status))
  }

  /** What does not exist comes after all elements, unless there is nothing else to say of the entity [context 6.4]. */
  get atEnd(): readonly ElementResponse[] {
    const all = this.#responses
    return all.length === 1 ? [] : all.filter(({ status }) => this.#isMissing(status))
  }

  get #responses(): readonly ElementResponse[] {
    const groups = [...this.#groups.values()].filter(({ attributes }) => attributes.length > 0)
    return groups.map((group) => ({ ...this.#head, ...group }))
  }

  #isMissing({ code, details }: StatusText): boolean {
    return code === '404' && details === this.#head.id
  }
}
