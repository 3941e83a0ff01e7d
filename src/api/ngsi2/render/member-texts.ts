import { compareBytes } from '../../../model/context/entity.js'
import { entityWith, expiration, memberText, type VisibleAttribute } from './entity-text.js'
import type { ShownForm } from './notification.js'

/**
 * The attributes of an entity as text, rendered once for all templates that replace a few of them: the rest of a large entity is
 * cut out of this text, not rendered again.
 */
export class MemberTexts {
  readonly #form: ShownForm
  readonly #attributes: readonly VisibleAttribute[]
  readonly #text: string
  /** The start of the text of each attribute, and the end of the last one. */
  readonly #starts: readonly number[]

  /** `attributes` ascend by name. */
  constructor(attributes: readonly VisibleAttribute[], form: ShownForm) {
    this.#form = form
    this.#attributes = attributes.filter(isShown)
    const texts = this.#attributes.map((attribute) => memberText(attribute, this.#form))
    this.#text = texts.join(',')
    let start = 0
    this.#starts = [0, ...texts.map((text) => (start += text.length + 1))]
  }

  /** How long all of them are. */
  get characters(): number {
    return this.#text.length
  }

  /** The entity with these attributes, each name once, in place of those with the same names. */
  with(entity: { readonly id: string; readonly type: string }, laid: readonly VisibleAttribute[]): string {
    const parts: string[] = []
    let from = 0
    for (const attribute of laid.filter(isShown).toSorted((a, b) => compareBytes(a.name, b.name))) {
      const to = this.#firstFrom(attribute.name)
      parts.push(...this.#between(from, to), memberText(attribute, this.#form))
      from = this.#attributes[to]?.name === attribute.name ? to + 1 : to
    }
    parts.push(...this.#between(from, this.#attributes.length))
    const members = parts.join(',')
    return this.#form === 'values' ? `[${members}]` : entityWith(entity, members)
  }

  #between(from: number, to: number): readonly string[] {
    return from === to ? [] : [this.#text.slice(this.#starts[from], (this.#starts[to] ?? 0) - 1)]
  }

  /** The index of the first attribute whose name is this one or follows it. */
  #firstFrom(name: string): number {
    let [low, high] = [0, this.#attributes.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if (compareBytes(this.#attributes[middle]?.name ?? '', name) < 0) low = middle + 1
      else high = middle
    }
    return low
  }
}

/** Where nothing is selected. */
function isShown({ name }: VisibleAttribute): boolean {
  return name !== expiration
}
