import { join } from 'node:path'
import { decodeChange } from '../../records/change-record.js'
import { type Key, onlyPart } from '../../records/keys.js'
import { decodeGroup, decodeNotice, type NoticeGroup } from '../../records/outbox-record.js'
import { decodeEntity } from '../../records/record.js'
import { holdersKey, lastNumber, type OutboxDatabases, statsOf } from '../outbox.js'
import type { Findings } from './findings.js'

/** Checks the notices of an outbox, their groups, what those show and the delivery stats; gives the number of records. */
export function checkOutbox(outbox: OutboxDatabases, path: string, findings: Findings): number {
  const file = join(path, 'data.mdb')
  const last = findings.attempt(file, ['notice'], 'the fact cannot be read', () => lastNumber(outbox, path)) ?? 0
  const notices = checkNotices(outbox, file, last, findings)
  const groups = checkGroups(outbox, file, last, findings)
  const shown = checkShown(outbox, file, findings)
  let stats = 0
  for (const _ of statsOf(outbox, (record, fault) =>
    findings.add(`${file} deliveryStats`, undefined, `${record}: ${fault}`),
  )) {
    stats += 1
  }
  return notices + groups + shown + stats
}

function checkNotices({ notices }: OutboxDatabases, path: string, last: number, findings: Findings): number {
  const file = `${path} notices`
  let count = 0
  for (const { key, value } of notices.getRange({})) {
    count += 1
    const number = Number(onlyPart(key))
    findings.attempt(file, [number], 'the notice cannot be read', () => decodeNotice(value))
    if (!(number <= last)) findings.add(file, [number], `its number is higher than the last that was given, ${last}`)
  }
  return count
}

function checkGroups(
  { groups, notices, shown }: OutboxDatabases,
  path: string,
  last: number,
  findings: Findings,
): number {
  const file = `${path} groups`
  let count = 0
  let free = 0
  for (const { key, value } of groups.getRange({})) {
    count += 1
    const first = Number(onlyPart(key))
    const group = findings.attempt(file, [first], 'the group cannot be read', () => decodeGroup(first, value))
    if (group === undefined) continue
    const end = first + group.subscriptions.length
    if (first < free)
      findings.add(file, [first], `the group begins within the one before, which goes up to ${free - 1}`)
    free = end
    if (end - 1 > last) findings.add(file, [first], `its numbers go beyond the last that was given, ${last}`)
    if (group.subscriptions.every((id) => id === undefined))
      findings.add(file, [first], 'all notices of the group have left')
    for (const { key: own } of notices.getRange({ start: [first], end: [end], limit: 1 })) {
      findings.add(file, [first], `notice ${onlyPart(own)} is also there by itself`)
    }
    const text = shown.get([group.shown])
    if (text === undefined) findings.add(file, [first], `the entity that it shows is not there, number ${group.shown}`)
    else if (Buffer.byteLength(text) !== group.shown_bytes) {
      findings.add(file, [first], `it shows ${Buffer.byteLength(text)} bytes instead of ${group.shown_bytes}`)
    }
  }
  return count
}

/** Groups that show one entity have numbers that follow each other, from that of the entity on. */
function checkShown({ groups, shown }: OutboxDatabases, path: string, findings: Findings): number {
  const file = `${path} shown`
  let count = 0
  for (const { key, value } of shown.getRange({})) {
    const number = Number(onlyPart(key))
    const isHolders = Array.isArray(key) && key.length > 1
    if (isHolders) {
      if (shown.get([number]) === undefined)
        findings.add(file, key as Key, 'groups are counted of an entity that is not there')
      continue
    }
    count += 1
    let holders = 0
    let isChange = false
    for (const { key: first, value: text } of groups.getRange({ start: [number] })) {
      const group = readable(Number(onlyPart(first)), text)
      if (group?.shown !== number) break
      isChange ||= group.messages !== undefined
      holders += 1
    }
    findings.attempt(file, [number], `the ${isChange ? 'change' : 'entity'} cannot be read`, () =>
      isChange ? decodeChange(value) : decodeEntity(value),
    )
    const held = shown.get(holdersKey(number))
    if (held !== String(holders))
      findings.add(file, holdersKey(number), `${held} groups are counted instead of ${holders}`)
  }
  return count
}

/** A group; undefined if it cannot be read, which has been reported. */
function readable(first: number, text: string): NoticeGroup | undefined {
  try {
    return decodeGroup(first, text)
  } catch {
    return undefined
  }
}
