import { type Dimension, ofList } from './dimension.js'
import { batch, elementOfOne, many, type Sent } from './given.js'

const held = (value: string) => (): readonly Sent[] => [batch('append', elementOfOne('a', value))]
const array = held(`[${many(40_000, (at) => `${at}`)}]`)
const object = held(`{${many(40_000, (at) => `"k${at}":1`)}}`)

/** One element for each use of an operator, all of them about one attribute. */
const repeated = (
  operator: string,
  limit: number,
  given: (at: number) => string,
  before: () => readonly Sent[],
): Dimension =>
  ofList({
    name: `${operator} of one attribute in one batch`,
    limit,
    item: (at) => elementOfOne('a', `{"${operator}":${given(at)}}`),
    before,
    sent: (items) => batch('update', items),
    expects: /^204/,
  })

/** One use of an operator, with this many items, of an attribute with as many as there may be beside them. */
const large = (
  operator: string,
  item: (at: number) => string,
  around: (items: string) => string,
  before: () => readonly Sent[],
) =>
  ofList({
    name: `items of one ${operator}`,
    limit: 40_000,
    item,
    before,
    sent: (items: string): Sent => batch('update', elementOfOne('a', `{"${operator}":${around(items)}}`)),
    expects: /^204/,
  })

const number = (at: number): string => `${at}`
const other = (at: number): string => `${50_000 + at}`
const member = (at: number): string => `"k${2 * at}":2`
const each = (items: string): string => `{"$each":[${items}]}`

/** Update operators: many of them in a batch, with many items, and each on what is large. */
export const operators: readonly Dimension[] = [
  ...['$inc', '$mul', '$min', '$max'].map((operator) => repeated(operator, 10_000, () => '1', held('1'))),
  repeated('$push', 15_000, number, held('[]')),
  repeated('$addToSet', 7500, number, held('[]')),
  repeated('$pull', 10_000, number, held(`[${many(10_000, number)}]`)),
  repeated('$pullAll', 10_000, (at) => `[${at}]`, held(`[${many(10_000, number)}]`)),
  repeated('$set', 6000, (at) => `{"k${at}":1}`, held('{}')),
  repeated('$unset', 6000, (at) => `{"k${at}":1}`, held(`{${many(6000, (at) => `"k${at}":1`)}}`)),
  ...['$push', '$addToSet', '$pull'].map((operator): Dimension => {
    const { name, ...rest } = repeated(operator, 250, other, array)
    return { ...rest, name: `${name} to a large array` }
  }),
  ...['$set', '$unset'].map((operator): Dimension => {
    const { name, ...rest } = repeated(operator, 250, (at) => `{"k${at}":1}`, object)
    return { ...rest, name: `${name} to a large object` }
  }),
  large('$push', other, each, array),
  large('$addToSet', other, each, array),
  { ...large('$addToSet', member, (items) => `{${items}}`, held('[]')), name: 'members of one item of $addToSet' },
  large('$pullAll', number, (items) => `[${items}]`, array),
  large('$set', member, (items) => `{${items}}`, object),
  {
    ...large(
      '$set',
      (at) => `"${2 * at}":2`,
      (items) => `{${items}}`,
      held(`{${many(40_000, (at) => `"${at}":1`)}}`),
    ),
    name: 'items of one $set whose keys are numbers',
  },
  large('$unset', member, (items) => `{${items}}`, object),
  {
    name: 'updates of an entity with a large object',
    most: 256,
    before: object,
    sent: (size) =>
      batch(
        'append',
        many(size, (at) => elementOfOne('b', `${at}`)),
      ),
    expects: /^204/,
  },
  {
    name: 'updates of an entity with a large array',
    most: 256,
    before: held(`[${many(95_000, () => '1')}]`),
    sent: (size) =>
      batch(
        'append',
        many(size, (at) => elementOfOne('b', `${at}`)),
      ),
    expects: /^204/,
  },
]
