import { Misread, type Reader, readMap, readMembers, readNumber, readText } from '../raw.js'

/** The trace areas by name, with their numbers; of `/admin/config`. */
export const readAreas: Reader<ReadonlyMap<string, number>> = (raw) =>
  readMembers({ traceAreas: readMap(readNumber) })(raw).traceAreas

/** The numbers of the levels that are on; of `/log/trace`. */
export const readLevels: Reader<ReadonlySet<number>> = (raw) => {
  const { tracelevels } = readMembers({ tracelevels: readText })(raw)
  const levels = new Set<number>()
  if (tracelevels === 'empty') return levels
  for (const item of tracelevels.split(', ')) {
    const [first = 0, last = first] = item.split('-').map(Number)
    for (let level = first; level <= last; level += 1) levels.add(level)
  }
  return levels
}

/** Of `/admin/log`. */
export const readLogLevel: Reader<string> = (raw) => readMembers({ level: readText })(raw).level

/** Of `/log/verbose`. */
export const readVerbosity: Reader<string> = (raw) => readMembers({ verboseLevel: readText })(raw).verboseLevel

/** A line of the log. */
export interface LogLine {
  /** Tells it from others. */
  readonly number: number
  readonly time: string
  readonly level: string
  /** Its trace area; empty for other lines. */
  readonly area: string
  readonly op: string
  readonly message: string
  readonly correlator: string
  readonly tenant: string
  /** As it came. */
  readonly text: string
}

const known = ['time', 'lvl', 'area', 'op', 'msg', 'corr', 'srv'] as const

/** Reads the event `line` of `/admin/log/tail`. */
export function readLine(text: string, number: number): LogLine {
  const raw: unknown = JSON.parse(text)
  if (typeof raw !== 'object' || raw === null) throw new Misread('no line')
  const members = new Map<string, unknown>(Object.entries(raw))
  const [time, level, area, op, message, correlator, tenant] = known.map((name) => String(members.get(name) ?? ''))
  return {
    ...{ number, text, time: time ?? '', level: level ?? '', area: area ?? '', op: op ?? '', message: message ?? '' },
    ...{ correlator: correlator ?? '', tenant: tenant ?? '' },
  }
}
