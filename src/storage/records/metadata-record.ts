import type { NoticeAck } from '../../model/subscription/notice.js'
import { type NoticeWrite, noticeSections, noticesIn } from './notice-write.js'
import { decodeSections, encodeSections, type Section } from './sections.js'

/** The databases of the coordinator's environment whose records are put and removed one by one. */
export type MetadataDatabase = 'subscriptions' | 'ticks' | 'registrations' | 'availability'

/** A record that is put, or removed when there is no text. */
export interface MetadataWrite {
  readonly database: MetadataDatabase
  readonly id: string
  readonly text: string | undefined
}

/** A change of the coordinator's data in the form in which it is logged and applied. Absent members stay as they are. */
export interface MetadataRecord {
  readonly writes?: readonly MetadataWrite[]
  readonly notices?: readonly NoticeWrite[]
  readonly acks?: readonly NoticeAck[]
}

/** The version of the format. Everything below is part of the format on disk. */
const version = 2

/** The bytes of a log record with changes that are applied together, in their order. */
export function encodeMetadataRecord(changes: readonly MetadataRecord[]): Uint8Array {
  const sections: Section[] = [{ tag: 'metadata', text: `${version}` }]
  for (const { writes = [], notices = [], acks = [] } of changes) {
    for (const { database, id, text } of writes) {
      if (text === undefined) sections.push({ tag: 'delete', text: `${database} ${id}` })
      else sections.push({ tag: 'put', text: `${database} ${id} ${text}` })
    }
    sections.push(...noticeSections(notices))
    if (acks.length > 0) sections.push({ tag: 'acks', text: JSON.stringify(acks) })
  }
  return encodeSections(sections)
}

/** What `encodeMetadataRecord` wrote, as one change; throws when it cannot be read. */
export function decodeMetadataRecord(bytes: Uint8Array): Required<MetadataRecord> {
  const sections = decodeSections(bytes)
  const [head] = sections
  if (head?.tag !== 'metadata' || Number(head.text) !== version) {
    throw new Error(`it is no record of the coordinator in version ${version}`)
  }
  return {
    writes: sections.flatMap(writeIn),
    notices: noticesIn(sections),
    acks: sections.flatMap(({ tag, text }) => (tag === 'acks' ? (JSON.parse(text) as NoticeAck[]) : [])),
  }
}

/** Neither databases nor ids have spaces. */
function writeIn({ tag, text: section }: Section): readonly MetadataWrite[] {
  if (tag !== 'put' && tag !== 'delete') return []
  const [database = '', id = ''] = section.split(' ', 2)
  if (!isMetadataDatabase(database)) throw new Error(`there is no database ${database}`)
  return [{ database, id, text: tag === 'put' ? section.slice(database.length + id.length + 2) : undefined }]
}

function isMetadataDatabase(name: string): name is MetadataDatabase {
  return name === 'subscriptions' || name === 'ticks' || name === 'registrations' || name === 'availability'
}
