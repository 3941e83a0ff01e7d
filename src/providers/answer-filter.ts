import type { Unavailable } from '../broker/broker.js'
import { Effort, maxSteps } from '../context/effort.js'
import { compileHeads } from '../context/match.js'
import { ok, type Result } from '../result.js'
import { Slices } from '../slices.js'
import type { ForwardResult } from './forwarder.js'
import type { ShownEntity } from './merge-responses.js'
import type { QueryAnswer } from './provider-format.js'
import { entityKey } from './query-plan.js'
import { attributeNames, type ReadForward, type ReadPlan, type RemoteRead } from './read-plan.js'

/** What is left of the answer of a provider. */
interface TakenAnswer {
  readonly elements: readonly ShownEntity[]
  /** How many results the provider has. */
  readonly count: number
}

const nothing: TakenAnswer = { elements: [], count: 0 }

/** Leaves of the answers of providers what was asked for and is not held here [subscriptions 8], [NGSIv2 subscriptions 11.2]. */
export class AnswerFilter {
  readonly #plan: ReadPlan
  readonly #read: RemoteRead
  readonly #effort = new Effort(maxSteps)
  readonly #slices = new Slices()
  readonly #isMeant: (entity: ShownEntity) => boolean
  readonly #onPage: ReadonlySet<string>

  constructor(plan: ReadPlan, read: RemoteRead) {
    this.#plan = plan
    this.#read = read
    this.#isMeant = compileHeads(read.query, this.#effort)
    this.#onPage = new Set(read.page.entities.map(entityKey))
  }

  /** What an answer adds; nothing when there is none. What takes too long to be compared with the query is left out, as from a provider that fails. */
  async take({ forward, answer }: ForwardResult<ReadForward, QueryAnswer>): Promise<Result<TakenAnswer, Unavailable>> {
    if (!answer.ok) return ok(nothing)
    const { elements, count } = answer.value
    if (this.#isTrusted(forward)) return ok({ elements: elements.map(withoutHeld(forward)), count: elements.length })
    const meant = await this.#meant(forward, elements)
    const { offset, limit } = forward.page
    const page = forward.form === 'ngsi1' ? meant.slice(offset, offset + limit) : meant.slice(0, limit)
    const { everyId, type } = forward.entity
    const left = everyId || type === '' ? await this.#notHeld(page) : ok(page.map(withoutHeld(forward)))
    return left.ok ? ok({ elements: left.value, count: count ?? meant.length }) : left
  }

  async #meant(forward: ReadForward, elements: readonly ShownEntity[]): Promise<readonly ShownEntity[]> {
    const meant: ShownEntity[] = []
    this.#effort.renew()
    for (const element of elements) {
      if (this.#slices.isOver) await this.#slices.next()
      const typed = element.type === '' ? { ...element, type: forward.entity.type } : element
      if (isAsked(forward, typed) && this.#isMeant(typed)) meant.push(typed)
      if (this.#effort.isSpent) break
    }
    return meant
  }

  /** Clients of NGSIv1 are told all that a provider in its form says of an entity that they ask for. */
  #isTrusted({ form, entity }: ReadForward): boolean {
    return form === 'ngsi1' && this.#read.form === 'ngsi1' && !entity.everyId
  }

  /** Entities of which nobody knew id and type before the provider named them: what is held here of one wins, whatever page it is on. */
  async #notHeld(elements: readonly ShownEntity[]): Promise<Result<readonly ShownEntity[], Unavailable>> {
    const left: ShownEntity[] = []
    const toRead = elements.filter((element) => !this.#onPage.has(entityKey(element)))
    const known = await this.#plan.prepare(toRead.map(({ id }) => id))
    if (!known.ok) return known
    for (const element of elements) {
      if (this.#slices.isOver) await this.#slices.next()
      if (this.#read.client.gone) break
      const held = this.#onPage.has(entityKey(element)) ? ok([]) : await this.#plan.heldHere(element)
      if (!held.ok && held.error.kind === 'queryTooCostly') break
      if (!held.ok) return held
      if (held.value === 'shown') continue
      const names = attributeNames(held.value)
      left.push(names.size === 0 ? element : { ...element, attributes: without(element, names) })
    }
    return ok(left)
  }
}

/** Whether an entity is one that the provider was asked for. */
function isAsked({ entity }: ReadForward, { id, type }: ShownEntity): boolean {
  return (entity.everyId === true || id === entity.id) && (entity.type === '' || type === entity.type)
}

/** What a provider says of what is held here does not count. */
function withoutHeld({ entity, held }: ReadForward): (element: ShownEntity) => ShownEntity {
  const key = entityKey(entity)
  return (element) => (entityKey(element) === key ? { ...element, attributes: without(element, held) } : element)
}

function without({ attributes }: ShownEntity, names: ReadonlySet<string>): ShownEntity['attributes'] {
  return attributes.filter(({ name }) => !names.has(name))
}
