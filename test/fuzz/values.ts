import { type Random, Spelled } from './random.js'

/** Few names, so that requests meet the same things again, and now and then one that is hard to handle. */
export function nameIn(random: Random, kind: string): string {
  return random.once(12) ? oddText(random) : `${kind}${random.below(6)}`
}

/** Text that programs stumble over: empty, long, forbidden, of other alphabets, half of a character, JSON in a text. */
export function oddText(random: Random): string {
  return random.pick([
    '',
    ' ',
    '.*',
    'a/b',
    '%2F',
    '<b>',
    'a;b=(c)',
    "it's",
    '"',
    '\\',
    '\u0000',
    '\n',
    'é',
    'Ω\u0301',
    '日本語',
    '👩‍👩‍👧',
    '\ud800',
    '\u202e',
    '\ufeff',
    '__proto__',
    'constructor',
    'toString',
    'hasOwnProperty',
    'null',
    '0',
    '-0',
    '1e400',
    '{"a":1}',
    'x'.repeat(1 + random.below(300)),
    'é'.repeat(1 + random.below(20_000)),
  ])
}

/** A value of an attribute: mostly text, also compound, deep or large. */
export function valueIn(random: Random): unknown {
  switch (random.below(12)) {
    case 0:
      return oddText(random)
    case 1:
      return oddNumber(random)
    case 2:
      return random.pick([true, false, null])
    case 3:
      return compound(random, 4)
    case 4:
      return random.once(10) ? nested(random.pick([10, 100, 1000, 20_000]), random.once(2)) : `${random.below(100)}`
    case 5:
      return random.once(20) ? 'y'.repeat(random.pick([1_000, 60_000, 300_000])) : 'small'
    default:
      return `${random.below(1000)}`
  }
}

function oddNumber(random: Random): Spelled {
  const spellings = ['0', '-0', '1.50', '1e3', '1E-7', '1e400', '-1e400', '12345678901234567890', '0.1', '5e-324', '01']
  return new Spelled(random.any(spellings) ?? '0')
}

function compound(random: Random, depth: number): unknown {
  if (depth === 0 || random.once(3)) return `${random.below(10)}`
  if (random.once(2)) return random.list(4, () => compound(random, depth - 1))
  return Object.fromEntries(random.list(4, () => [nameIn(random, 'k'), compound(random, depth - 1)]))
}

/** As deep as that, of arrays or of objects. */
function nested(depth: number, ofArrays: boolean): Spelled {
  const [open, close] = ofArrays ? ['[', ']'] : ['{"a":', '}']
  return new Spelled(`${open.repeat(depth)}1${close.repeat(depth)}`)
}

/** A value of any kind, where another one belongs. */
export function wildValue(random: Random): unknown {
  const kinds = [null, true, [], {}, 0, -1, '', 'wild', [[]], [null], { a: null }, [{}]]
  return random.once(3) ? valueIn(random) : random.once(4) ? oddNumber(random) : random.any(kinds)
}

/** The same structure with one thing in it replaced, left out, doubled or named otherwise. */
export function damaged(random: Random, value: unknown): unknown {
  if (random.once(4)) return wildValue(random)
  if (Array.isArray(value)) {
    const at = random.below(value.length + 1)
    if (random.once(4)) return [...value, ...value]
    return value.flatMap((each, index) => (index !== at ? [each] : random.once(3) ? [] : [damaged(random, each)]))
  }
  if (typeof value !== 'object' || value === null || value instanceof Spelled) return wildValue(random)
  const members = Object.entries(value)
  const at = random.below(members.length)
  const changed = members.flatMap(([name, each], index): [string, unknown][] => {
    if (index !== at) return [[name, each]]
    if (random.once(6)) return []
    return random.once(6) ? [[name.toUpperCase(), each]] : [[name, damaged(random, each)]]
  })
  return Object.fromEntries(random.once(8) ? [...changed, [nameIn(random, 'unknown'), wildValue(random)]] : changed)
}
