import { checked, type Given, refuse } from '../../api/ngsi2/parse/tree.js'
import { failureText } from '../../faults.js'
import { findJsonFault, maxNesting, parseJson } from '../../json-reader.js'
import type { Milliseconds } from '../../time.js'
import { entityLine, readEntityLine } from './entity-line.js'
import { type InputFile, linesOf, mayBeParsed, type TextLine } from './input-file.js'
import {
  countsText,
  type Item,
  type ItemCounts,
  type ItemSource,
  itemKinds,
  noCounts,
  type PartLoss,
  type Sourced,
  wrong,
} from './items.js'
import { LineFields } from './line-fields.js'
import { readRegistrationLine, registrationLine } from './registration-line.js'
import {
  availabilityLine,
  readAvailabilityLine,
  readSubscriptionLine,
  subscriptionLine,
  withoutHiddenPassword,
} from './subscription-line.js'

/** The version of the export format that this program writes; it reads this and all earlier ones. */
export const exportVersion = 1

/** The first line of an export. */
export function headerLine(): string {
  return JSON.stringify({ kind: 'header', format: 'rigel-export', version: exportVersion })
}

export function lineOf(item: Item): string {
  switch (item.kind) {
    case 'entity':
      return entityLine(item)
    case 'subscription':
      return subscriptionLine(item)
    case 'registration':
      return registrationLine(item)
    case 'availability':
      return availabilityLine(item)
  }
}

/** The last line of an export: a file without it was truncated. */
export function endLine(counts: ItemCounts): string {
  return JSON.stringify({ kind: 'end', counts })
}

/** A parsed line of an export. */
type ExportLine =
  | { readonly kind: 'header' }
  | { readonly kind: 'item'; readonly item: Item; readonly losses?: readonly PartLoss[] }
  | { readonly kind: 'end'; readonly counts: ItemCounts }

const headerNames = new Set(['kind', 'format', 'version'])
const endNames = new Set(['kind', 'counts'])

/** Reads a parsed JSON line. Only within `checked`. */
function readExportLine(line: Given, now: Milliseconds): ExportLine {
  const fields = new LineFields(line, '')
  const kind = fields.one('kind', ['header', 'end', ...itemKinds])
  switch (kind) {
    case 'header':
      return readHeader(fields.only(headerNames))
    case 'end':
      return { kind, counts: readCounts(fields.only(endNames).given('counts')) }
    case 'entity':
      return { kind: 'item', item: readEntityLine(line, now) }
    case 'subscription': {
      const [item, losses] = withoutHiddenPassword(readSubscriptionLine(line))
      return { kind: 'item', item, losses }
    }
    case 'registration':
      return { kind: 'item', item: readRegistrationLine(line) }
    case 'availability':
      return { kind: 'item', item: readAvailabilityLine(line) }
  }
}

function readHeader(fields: LineFields): ExportLine {
  if (fields.text('format') !== 'rigel-export') refuse(`it is no export of Rigel: format is ${fields.text('format')}`)
  const version = fields.number('version', 1)
  if (version > exportVersion) {
    refuse(
      `it has version ${version}, this program reads up to ${exportVersion}: use the version of Rigel that wrote it`,
    )
  }
  return { kind: 'header' }
}

function readCounts(given: Given): ItemCounts {
  const fields = new LineFields(given, 'counts')
  const counts = noCounts()
  for (const kind of itemKinds) counts[kind] = fields.optionalNumber(kind, 0) ?? 0
  return counts
}

/** The items of an export. Items without dates get the moment `now`. */
export function exportSource(file: InputFile, now: Milliseconds): ItemSource {
  return {
    pieces: readPieces(file, now),
    progress: () => file.progress,
    faultAtEnd: file.isReadOnce ? undefined : () => faultAtEnd(file),
  }
}

/** Why the end of a file is none of an export; undefined for a whole one, and for a file that is refused at its first lines. */
async function faultAtEnd(file: InputFile): Promise<string | undefined> {
  let last: TextLine | undefined
  try {
    for await (const lines of linesOf(file.again().bytes())) {
      if (last === undefined && kindOf(lines[0]) !== 'header') return undefined
      last = lines.at(-1)
    }
  } catch (fault) {
    return `the file cannot be read to its end: ${failureText(fault)}`
  }
  return last === undefined || kindOf(last) === 'end' ? undefined : `line ${last.number}: ${cut}`
}

/** The kind of a line; undefined for one that is none of an export. */
function kindOf(line: TextLine | undefined): ExportLine['kind'] | undefined {
  const given = line?.text === undefined ? undefined : parsed(line.text)
  const read = given && checked(() => readExportLine(given.value, 0 as Milliseconds))
  return read?.ok ? read.value.kind : undefined
}

async function* readPieces(file: InputFile, now: Milliseconds): AsyncGenerator<readonly Sourced[]> {
  const reader = new ExportReader(now)
  for await (const lines of linesOf(file.bytes())) yield lines.flatMap((line) => reader.read(line))
  yield reader.end()
}

/** Reads the lines of concatenated exports, and checks that each is complete. */
class ExportReader {
  readonly #now: Milliseconds
  #counts = noCounts()
  /** Whether lines of an export follow: its header has come, and its end has not. */
  #isInside = false
  #last = 0

  constructor(now: Milliseconds) {
    this.#now = now
  }

  read(textLine: TextLine): readonly Sourced[] {
    const { number, text } = textLine
    this.#last = number
    const where = `line ${number}`
    if (text === undefined) return [{ kind: 'wrong', where, reason: textLine.fault }]
    const given = parsed(text)
    if (given === undefined) {
      const { at, expected } = findJsonFault(text) ?? { at: 0, expected: 'a value' }
      const reason = `the line is not JSON: ${expected} is expected there`
      return [{ kind: 'wrong', where: `${where}, column ${at + 1}`, reason }]
    }
    const line = checked(() => readExportLine(given.value, this.#now))
    if (!line.ok) return [{ kind: 'wrong', where, reason: line.error.description }]
    return this.#taken(line.value, where)
  }

  /** The error at the end of the file, if any. */
  end(): readonly Sourced[] {
    if (this.#last === 0)
      return [wrong('line 1', 'there is nothing in it: an export begins with a line of the kind header')]
    return this.#isInside ? [wrong(`line ${this.#last}`, cut)] : []
  }

  #taken(line: ExportLine, where: string): readonly Sourced[] {
    if (line.kind === 'header') {
      const wasInside = this.#isInside
      this.#isInside = true
      this.#counts = noCounts()
      return wasInside ? [wrong(where, cut)] : []
    }
    if (!this.#isInside) {
      this.#isInside = true
      const early = wrong(where, 'it is no export of Rigel: the line of the kind header is missing before it')
      return line.kind === 'item' ? [early, { ...line, where }] : [early]
    }
    if (line.kind === 'item') {
      this.#counts[line.item.kind] += 1
      return [{ ...line, where }]
    }
    this.#isInside = false
    const differing = itemKinds.find((kind) => line.counts[kind] !== this.#counts[kind])
    if (differing === undefined) return []
    const [stated, counted] = [line.counts[differing], this.#counts[differing]]
    const read = `${counted === 0 ? 'none' : counted} could be read`
    return [wrong(where, `the end line counts ${countsText({ ...noCounts(), [differing]: stated })}, but ${read}`)]
  }
}

const cut = 'the export was cut: its last line, which has the counts, is missing'

/** A value is nested some levels deeper in a line than in its request. */
const maxLineNesting = maxNesting + 20

/** In an object, because null is JSON as well. */
function parsed(text: string): { readonly value: Given } | undefined {
  if (!mayBeParsed(text)) return undefined
  const parsed = parseJson(text, maxLineNesting)
  return parsed.ok ? parsed : undefined
}
