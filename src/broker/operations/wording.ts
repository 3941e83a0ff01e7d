import type { Excess } from '../../model/context/entity-size.js'
import type { FilterMalformed } from '../../model/context/filter-parse.js'
import { detailsOfTooCostly } from '../../model/context/pattern.js'

/** The texts for a union of refusals, one for each kind: complete, or the build fails. */
export type Wording<Refusal extends { readonly kind: string }, Text, More extends readonly unknown[] = []> = {
  readonly [Kind in Refusal['kind']]: (refusal: Extract<Refusal, { kind: Kind }>, ...more: More) => Text
}

/** The text of a refusal. */
export function textOf<Refusal extends { readonly kind: string }, Text, More extends readonly unknown[]>(
  wording: Wording<Refusal, Text, More>,
  refusal: Refusal,
  ...more: More
): Text {
  // A refusal's kind is the key of its own entry.
  const render = wording[refusal.kind as Refusal['kind']] as (refusal: Refusal, ...more: More) => Text
  return render(refusal, ...more)
}

/** The texts of malformed filters that both interfaces share [context 7.4.2], [NGSIv2 context 10.2]. */
export const filterTexts = {
  filterEmpty: () => 'empty q',
  statementEmpty: () => 'empty q-item',
  leftSideEmpty: () => 'empty left-hand-side in q-item',
  rightSideEmpty: () => 'empty right-hand-side in q-item',
  listItemEmpty: () => 'empty item in list',
  rangeItemEmpty: () => 'empty item in range',
  rangeOrdered: () => 'ranges only valid for equal and not equal ops',
  listOrdered: () => 'lists only valid for equal and not equal ops',
  rangeMixed: () => 'invalid range: types mixed',
  listMixed: () => 'invalid JSON value type in list',
  quoteOpen: () => 'non-terminated forced string',
  quoteInName: () => 'forbidden characters in String Filter',
  patternMalformed: ({ pattern }) => `error compiling filter regex: '${pattern}'`,
  patternTooCostly: ({ pattern }) => detailsOfTooCostly(pattern),
  statementsTooMany: () => 'too many q-items',
  filterTooLong: () => 'q too long',
} satisfies Partial<Wording<FilterMalformed, string>>

const excesses: { readonly [What in Excess]: string } = {
  size: 'size of the entity',
  sizes: 'size of all entities of the id together',
  attributes: 'attributes of the entity',
  values: 'values of the entity',
  metadata: 'metadata of the entity',
}

/** Why an update is refused that would make an entity exceed a limit. */
export function excessText(what: Excess, max: number): string {
  return `${excesses[what]} would exceed the max supported: ${max}`
}
