import { join } from 'node:path'
import { pathExists } from '../../../folder.js'
import { readCheckpoint } from '../../environment/checkpoint.js'
import { decodeMetadataRecord } from '../../records/metadata-record.js'
import { decodeEntity } from '../../records/record.js'
import { decodeTurnRecord } from '../../records/turn-record.js'
import { DiskLogFolder } from '../../wal/log-folder.js'
import { cutRecord, damageText, foundLog } from '../../wal/log-recovery.js'
import { LogScan, parsePosition } from '../../wal/log-scan.js'
import type { Findings } from './findings.js'

/** Stands for the entities that a record changes, which only the store has. */
const anyEntity = decodeEntity('["","","/",0,0,0,[]]')

/**
 * Reads the records behind the last checkpoint of a member, and changes nothing; gives how many there are. Damage that refuses a start
 * is a finding, and what will be cut off the log when it is opened is noted.
 */
export function checkLog(path: string, kind: 'partition' | 'metadata', findings: Findings): number {
  const checkpoint = readCheckpoint(path)
  if (!checkpoint.ok) {
    findings.add(join(path, 'checkpoint'), undefined, checkpoint.error.reason)
    return 0
  }
  const folder = join(path, 'log')
  if (checkpoint.value === undefined || !pathExists(folder)) return 0
  const from = parsePosition(checkpoint.value.note)
  if (from === undefined) {
    findings.add(join(path, 'checkpoint'), undefined, 'it names no place in the log')
    return 0
  }
  const scan = new LogScan(new DiskLogFolder(folder))
  const found = foundLog(scan, folder, from)
  if (!found.ok) {
    findings.add(found.error.file, undefined, damageText(found.error))
    return 0
  }
  const { cut_bytes } = found.value
  if (cut_bytes > 0) findings.note(folder, `${cut_bytes} bytes at its end are cut off when it is opened: ${cutRecord}`)
  let records = 0
  for (const { frame } of scan.records(from)) {
    records += 1
    findings.attempt(folder, [frame.sequence], 'the record cannot be read', () =>
      kind === 'metadata' ? decodeMetadataRecord(frame.payload) : decodeTurnRecord(frame.payload, () => anyEntity),
    )
  }
  return records
}
