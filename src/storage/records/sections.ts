/** A part of a log record: a text with its kind. */
export interface Section {
  readonly tag: SectionTag
  readonly text: string
}

/** The letter before a section of each kind. Part of the format on disk: a letter never changes its meaning. */
const letters = {
  turn: 't',
  create: 'c',
  change: 'u',
  remove: 'r',
  notice: 'n',
  group: 'g',
  shown: 's',
  acks: 'a',
  metadata: 'k',
  put: 'p',
  delete: 'd',
} as const

export type SectionTag = keyof typeof letters

const tags: ReadonlyMap<string, SectionTag> = new Map(
  Object.entries(letters).map(([tag, letter]) => [letter, tag as SectionTag]),
)

/** Each section is its letter, the number of its UTF-16 code units, a colon, and its text; all of it in UTF-8. */
export function encodeSections(sections: readonly Section[]): Uint8Array {
  let characters = 0
  for (const { text } of sections) characters += text.length
  if (characters >= joinedMost) return encodeOneByOne(sections)
  let all = ''
  for (const { tag, text } of sections) all += `${headOf(tag, text)}${text}`
  return Buffer.from(all)
}

/** The longest text that is joined with others: joining long texts costs as much as writing them. */
const joinedMost = 2 ** 17

function encodeOneByOne(sections: readonly Section[]): Uint8Array {
  let most = 0
  for (const { tag, text } of sections) most += headOf(tag, text).length + Buffer.byteLength(text)
  const bytes = Buffer.allocUnsafe(most)
  let at = 0
  for (const { tag, text } of sections) {
    at += bytes.write(headOf(tag, text), at)
    at += bytes.write(text, at)
  }
  return bytes
}

function headOf(tag: SectionTag, text: string): string {
  return `${letters[tag]}${text.length}:`
}

/** Decodes the sections of `encodeSections`; throws when they are malformed. */
export function decodeSections(bytes: Uint8Array): readonly Section[] {
  const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()
  const sections: Section[] = []
  for (let at = 0; at < all.length; ) {
    const colon = all.indexOf(':', at)
    const tag = tags.get(all.charAt(at))
    const length = Number(all.slice(at + 1, colon))
    if (tag === undefined || colon === -1 || !Number.isInteger(length) || colon + 1 + length > all.length) {
      throw new Error(`no section begins at character ${at} of the record`)
    }
    sections.push({ tag, text: all.slice(colon + 1, colon + 1 + length) })
    at = colon + 1 + length
  }
  return sections
}
