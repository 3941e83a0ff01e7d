import { type Given, refuse } from '../ngsi2/parse/tree.js'
import type { Milliseconds } from '../time.js'
import { entityLine, readEntityLine } from './entity-line.js'
import { type Item, type ItemCounts, itemKinds, noCounts } from './item.js'
import { LineFields } from './line-fields.js'
import { readRegistrationLine, registrationLine } from './registration-line.js'
import { availabilityLine, readAvailabilityLine, readSubscriptionLine, subscriptionLine } from './subscription-line.js'

/** The version of the form of exports that this program writes; it reads each up to it. */
const exportVersion = 1

/** The first line of an export. */
export function headerLine(): string {
  return JSON.stringify({ kind: 'header', format: 'rigel-export', version: exportVersion })
}

/** The line of what is exported. */
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

/** The last line of an export: a file without it was cut. */
export function endLine(counts: ItemCounts): string {
  return JSON.stringify({ kind: 'end', counts })
}

/** What a line of an export says. */
export type ExportLine =
  | { readonly kind: 'header' }
  | { readonly kind: 'item'; readonly item: Item }
  | { readonly kind: 'end'; readonly counts: ItemCounts }

const headerNames = new Set(['kind', 'format', 'version'])
const endNames = new Set(['kind', 'counts'])

/** Reads a line that is JSON. Only within `checked`. */
export function readExportLine(line: Given, now: Milliseconds): ExportLine {
  const fields = new LineFields(line, '')
  const kind = fields.one('kind', ['header', 'end', ...itemKinds])
  switch (kind) {
    case 'header':
      return readHeader(fields.only(headerNames))
    case 'end':
      return { kind, counts: readCounts(fields.only(endNames).given('counts')) }
    case 'entity':
      return { kind: 'item', item: readEntityLine(line, now) }
    case 'subscription':
      return { kind: 'item', item: readSubscriptionLine(line) }
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
