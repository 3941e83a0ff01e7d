import fc from 'fast-check'
import { test } from 'tap'
import type { Value } from '../../src/model/context/entity.js'
import { valueMeasure } from '../../src/model/context/entity-size.js'
import { type HeldValue, plainValue } from '../../src/model/context/large/large-attribute.js'
import { LargeValue } from '../../src/model/context/large/large-value.js'
import { operated, operatorOf } from '../../src/model/context/operators.js'
import { staysWithin } from '../pace.js'

type Case = readonly [what: string, operation: Value, held: Value | undefined, after: Value | undefined]

/** What an operation leaves; `unfit` and the operator when it does not fit. */
function outcome(operation: HeldValue, held: HeldValue | undefined): Value | undefined {
  if (operatorOf(operation) === undefined) return 'no operation'
  const after = operated(operation, held)
  if (!after.ok) return `unfit ${after.error}`
  return after.value && plainValue(after.value)
}

const cases: readonly Case[] = [
  ['$inc adds', { $inc: 2.5 }, 10, 12.5],
  ['$inc subtracts', { $inc: -3 }, 10, 7],
  ['$inc of a text does not fit', { $inc: 1 }, 'oak', 'unfit $inc'],
  ['$inc by a text does not fit', { $inc: 'one' }, 1, 'unfit $inc'],
  ['$inc beyond the numbers does not fit', { $inc: 1e308 }, 1.7e308, 'unfit $inc'],
  ['$inc of nothing is its number', { $inc: 2 }, undefined, 2],
  ['$mul multiplies', { $mul: 0.5 }, 10, 5],
  ['$mul of nothing is 0', { $mul: 5 }, undefined, 0],
  ['$min keeps the smaller', { $min: 20 }, 10, 10],
  ['$min takes the smaller', { $min: 2 }, 10, 2],
  ['$max takes the greater', { $max: 12 }, 10, 12],
  ['$max keeps the greater', { $max: 3 }, 10, 10],
  ['$min orders kinds: a number before a text', { $min: 3 }, 'k', 3],
  ['$max orders kinds: a boolean after an array', { $max: true }, [1], true],
  ['$min of nothing is at most 0', { $min: 8 }, undefined, 0],
  ['$max of nothing is at least 0', { $max: -3 }, undefined, 0],
  ['$max of nothing takes the greater', { $max: 8 }, undefined, 8],
  ['$min of nothing takes a text', { $min: 'k' }, undefined, 'k'],
  ['$push adds to the end', { $push: 2 }, [1, 2], [1, 2, 2]],
  ['$push takes a compound as one', { $push: { k: [1] } }, [1], [1, { k: [1] }]],
  ['$push adds several', { $push: { $each: [3, 4] } }, [1], [1, 3, 4]],
  ['$push adds at a place', { $push: { $each: [-1, 0], $position: 0 } }, [1, 2], [-1, 0, 1, 2]],
  ['$push takes a place beyond the end for the end', { $push: { $each: [9], $position: 10 } }, [1], [1, 9]],
  ['$push counts from the end', { $push: { $each: [7, 8], $position: -1 } }, [1, 9], [1, 7, 8, 9]],
  ['$push counts to the beginning at most', { $push: { $each: [0], $position: -20 } }, [1], [0, 1]],
  ['$push takes a whole number for a place', { $push: { $each: [0], $position: 0.5 } }, [1], 'unfit $push'],
  ['$push of no array does not fit', { $push: 1 }, 5, 'unfit $push'],
  ['$each is an array', { $push: { $each: 3 } }, [1], 'unfit $push'],
  ['$each stands alone or with a place', { $push: { $each: [3], $slice: 1 } }, [1], 'unfit $push'],
  ['$push of nothing is an array of its value', { $push: { x: 1 } }, undefined, [{ x: 1 }]],
  ['$addToSet adds what is not there', { $addToSet: '1' }, [1], [1, '1']],
  ['$addToSet leaves what is there', { $addToSet: { b: 2, a: [1] } }, [{ a: [1], b: 2 }], [{ a: [1], b: 2 }]],
  ['$addToSet adds each once', { $addToSet: { $each: [2, 3, 3, '2'] } }, [1, 2], [1, 2, 3, '2']],
  ['$addToSet knows no place', { $addToSet: { $each: [2], $position: 0 } }, [1], 'unfit $addToSet'],
  ['$addToSet takes an array for $each', { $addToSet: { $each: 'ab' } }, [1], 'unfit $addToSet'],
  ['$pull removes every equal one', { $pull: 1 }, [1, 2, 1, '1'], [2, '1']],
  ['$pull takes an object as a value', { $pull: { k: 1 } }, [{ k: 1 }, { k: 1, l: 2 }], [{ k: 1, l: 2 }]],
  ['$pull compares by structure', { $pull: { l: 2, k: 1 } }, [{ k: 1, l: 2 }], []],
  ['$pull creates nothing', { $pull: 1 }, undefined, undefined],
  ['$pull of a text does not fit', { $pull: 1 }, 'oak', 'unfit $pull'],
  ['$pullAll removes what equals one of them', { $pullAll: [2, 3, 9] }, [1, 2, 3], [1]],
  ['$pullAll takes an array', { $pullAll: 2 }, [1], 'unfit $pullAll'],
  ['$pullAll creates nothing', { $pullAll: [1] }, undefined, undefined],
  ['$set changes keys', { $set: { b: [20], 'c.d': null } }, { a: 1, b: 2 }, { a: 1, b: [20], 'c.d': null }],
  ['$set of what is no object is a plain update', { $set: 'plain' }, { a: 1 }, 'plain'],
  ['$set with an object on a text does not fit', { $set: { a: 1 } }, 'oak', 'unfit $set'],
  ['$set of nothing is its object', { $set: { k: 1 } }, undefined, { k: 1 }],
  ['$set of nothing is its value', { $set: 7 }, undefined, 7],
  ['$unset removes keys', { $unset: { a: null, 'b.c': 1, z: 1 } }, { a: 1, 'b.c': 2, d: 3 }, { d: 3 }],
  ['$unset of what is no object does nothing', { $unset: 'd' }, { d: 3 }, { d: 3 }],
  ['$unset creates nothing', { $unset: { k: 1 } }, undefined, undefined],
  ['$unset of a text does not fit', { $unset: { a: 1 } }, 'oak', 'unfit $unset'],
  ['$set and $unset together', { $set: { b: 20 }, $unset: { a: 1 } }, { a: 1, b: 2 }, { b: 20 }],
  ['$unset and $set together', { $unset: { a: 1 }, $set: { b: 20 } }, { a: 1 }, { b: 20 }],
  ['$set and $unset of null do not fit', { $set: { b: 1 }, $unset: { z: 1 } }, null, 'unfit $set'],
  ['$set and $unset of nothing are the object', { $set: { b: 1 }, $unset: { z: 1 } }, undefined, { b: 1 }],
  ['$set stands alone beside a $unset of no object', { $set: { b: 1 }, $unset: 5 }, { a: 1 }, { a: 1, b: 1 }],
  ['a $unset of no object leaves a plain update', { $unset: null, $set: 7 }, { a: 1 }, 7],
  ['one key in both does not fit', { $set: { a: 2 }, $unset: { a: 1 } }, { a: 1 }, 'unfit $set'],
  ['an unknown operator is none', { $sqrt: 2 }, 4, 'no operation'],
  ['an operator behind another key is none', { a: 1, $inc: 2 }, 4, 'no operation'],
]

test('each operator on each kind of stored value [NGSIv2 context 12]', async (t) => {
  for (const [what, operation, held, after] of cases) t.same(outcome(operation, held), after, what)
})

/** A value by its text, as a large one of a request arrives at its partition. */
function byText(value: Value): HeldValue {
  if (typeof value !== 'object' || value === null) return value
  const text = JSON.stringify(value)
  return LargeValue.written(text, valueMeasure(value), () => JSON.parse(text))
}

test('an operation that is given by its text is the same operation', async (t) => {
  for (const [what, operation, held, after] of cases) {
    t.same(outcome(byText(operation), held), after, what)
    t.same(outcome(byText(operation), held === undefined ? held : byText(held)), after, what)
  }
})

test('__proto__ is a key like others', async (t) => {
  const operation: Value = JSON.parse('{"$set":{"__proto__":{"x":1}}}')
  t.equal(JSON.stringify(outcome(operation, { a: 1 })), '{"a":1,"__proto__":{"x":1}}')
})

const value = fc.jsonValue({ maxDepth: 2 }).map((json): Value => JSON.parse(JSON.stringify(json)))
const array = fc.array(value, { maxLength: 6 })

test('what $addToSet has added $pull removes, and nothing else', async () => {
  fc.assert(
    fc.property(array, value, (held, added) => {
      const without = outcome({ $pull: added }, held)
      const again = outcome({ $addToSet: { $each: [added] } }, without)
      return JSON.stringify(outcome({ $pull: added }, again)) === JSON.stringify(without)
    }),
  )
})

test('$push at any place keeps what was there in its order', async () => {
  fc.assert(
    fc.property(array, array, fc.integer({ min: -10, max: 10 }), (held, added, position) => {
      const after = outcome({ $push: { $each: added, $position: position } }, held)
      if (!Array.isArray(after) || after.length !== held.length + added.length) return false
      const at = position < 0 ? Math.max(0, held.length + position) : Math.min(position, held.length)
      return JSON.stringify([...after.slice(0, at), ...after.slice(at + added.length)]) === JSON.stringify(held)
    }),
  )
})

test('large arrays are told apart in linear time', async (t) => {
  const many = Array.from({ length: 50_000 }, (_, number) => ({ number }))
  t.ok(await staysWithin(5000, () => t.same(outcome({ $pullAll: many.slice(1) }, many), [{ number: 0 }])))
})

test('an operator leaves the same of a large value, after any others, as of the value itself', async () => {
  const keyed = fc.dictionary(fc.constantFrom('a', 'b', '1', '0', '10', '01', '4294967295', '__proto__', 'c'), value, {
    maxKeys: 4,
  })
  const operation = fc.oneof(
    fc.tuple(fc.constantFrom('$push', '$addToSet', '$pull', '$max'), value).map(([name, given]) => ({ [name]: given })),
    fc.tuple(array, fc.integer({ min: -3, max: 3 })).map(([$each, $position]) => ({ $push: { $each, $position } })),
    array.map(($each) => ({ $addToSet: { $each } })),
    array.map(($pullAll) => ({ $pullAll })),
    keyed.map(($set) => ({ $set })),
    keyed.map(($unset) => ({ $unset })),
    fc.tuple(keyed, keyed).map(([$set, $unset]) => ({ $set, $unset })),
  )
  const form = fc.constantFrom<(value: readonly Value[] | { readonly [key: string]: Value }) => HeldValue>(
    LargeValue.of,
    byText,
  )
  fc.assert(
    fc.property(
      fc.oneof(array, keyed),
      fc.array(operation, { maxLength: 12 }),
      form,
      fc.boolean(),
      (first, operations, form, isText) => {
        const versions: { plain: Value; large: HeldValue }[] = [{ plain: first, large: form(first) }]
        for (const each of operations) {
          const { plain, large } = versions.at(-1) ?? { plain: first, large: first }
          const [left, right] = [operated(each, plain), operated(isText ? byText(each) : each, large)]
          if (left.ok !== right.ok) return false
          if (!left.ok || !right.ok || left.value === undefined || right.value === undefined) continue
          const measure =
            right.value instanceof LargeValue ? right.value.measure : valueMeasure(plainValue(right.value))
          if (JSON.stringify(measure) !== JSON.stringify(valueMeasure(plainValue(left.value)))) return false
          versions.push({ plain: plainValue(left.value), large: right.value })
        }
        return versions.every(({ plain, large }) => {
          const text = JSON.stringify(plain)
          const written = large instanceof LargeValue ? (large.text ?? text) : text
          return written === text && JSON.stringify(plainValue(large)) === text
        })
      },
    ),
    { numRuns: 300 },
  )
})

test('whether an object asks for an operation is found without listing its keys, unless one of them is an operator', async (t) => {
  let listed = 0
  const watched = (held: { readonly [key: string]: Value }): Value =>
    new Proxy(held, {
      ownKeys: (target) => {
        listed += 1
        return Reflect.ownKeys(target)
      },
    })
  t.equal(operatorOf(watched({ a: 1, $b: 2 })), undefined)
  t.equal(listed, 0)
  t.equal(operatorOf(watched({ $inc: 1 })), '$inc')
  t.equal(operatorOf(watched({ a: 1, $inc: 1 })), undefined, 'it stands first')
})

/** How many strings are put into a `Map` or `Set` by this work: for tens of thousands of members that is most of its time. */
function stringsKept(work: () => void): number {
  let strings = 0
  const [setOfMap, addOfSet] = [Map.prototype.set, Set.prototype.add]
  Map.prototype.set = function set(name, value) {
    if (typeof name === 'string') strings += 1
    return setOfMap.call(this, name, value)
  }
  Set.prototype.add = function add(name) {
    if (typeof name === 'string') strings += 1
    return addOfSet.call(this, name)
  }
  try {
    work()
  } finally {
    Map.prototype.set = setOfMap
    Set.prototype.add = addOfSet
  }
  return strings
}

test('an operator with as many operands as a value has members keeps none of their texts', async (t) => {
  const [items, most] = [Array.from({ length: 1000 }, (_, at) => at), 20]
  const object = Object.fromEntries(items.map((at) => [`k${at}`, at]))
  const numbered = Object.fromEntries(items.map((at) => [`${2 * at}`, at]))
  const cases: readonly (readonly [Value, { readonly [operator: string]: Value }])[] = [
    [object, { $set: object }],
    [object, { $unset: object }],
    [object, { $set: numbered, $unset: object }],
    [items, { $pullAll: items }],
    [items, { $addToSet: { $each: items.map((at) => 2 * at) } }],
  ]
  for (const [value, operation] of cases) {
    const [held, given] = [byText(value), byText(operation)]
    t.ok(stringsKept(() => operated(given, held)) < most, Object.keys(operation).join())
  }
})

test('what is given to the only operator of an operation is not read to find its end', async (t) => {
  const items = Array.from({ length: 1000 }, (_, at) => at)
  const alone = byText({ $set: items })
  const beside = byText({ $set: items, $unset: 5 })
  t.equal(
    charactersRead(() => operated(alone, 1)),
    1,
  )
  t.ok(charactersRead(() => operated(beside, 1)) > items.length)
})

/** How many characters of texts this work looks at, one by one. */
function charactersRead(work: () => void): number {
  let characters = 0
  const { charCodeAt } = String.prototype
  String.prototype.charCodeAt = function read(at) {
    characters += 1
    return charCodeAt.call(this, at)
  }
  try {
    work()
  } finally {
    String.prototype.charCodeAt = charCodeAt
  }
  return characters
}
