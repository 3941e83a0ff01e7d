import fc from 'fast-check'

/** Code points that are no characters lie between these, the second one excluded. */
const [firstSurrogate, behindSurrogates] = [0xd800, 0xe000]
const surrogates = behindSurrogates - firstSurrogate

/** Any character of Unicode. `binary` of fast-check is the same, but first makes a table of them all, for two seconds in each process. */
const character = fc.nat({ max: 0x10ffff - surrogates }).map(characterOf, numberOf)

/** Texts of any characters, and those that programs stumble over. */
export function unicodeText(lengths: fc.StringConstraints = {}): fc.Arbitrary<string> {
  return fc.string({ ...lengths, unit: character })
}

function characterOf(number: number): string {
  return String.fromCodePoint(number < firstSurrogate ? number : number + surrogates)
}

function numberOf(text: unknown): number {
  const code = typeof text === 'string' ? text.codePointAt(0) : undefined
  const number = code === undefined || code < behindSurrogates ? code : code - surrogates
  if (number === undefined || characterOf(number) !== text) throw new Error('this is not one character')
  return number
}
