import { Chip } from '../parts/small-parts.js'
import { fromJson } from '../session.js'

/** A line of the log. */
export interface LogLine {
  /** Its unique number. */
  readonly number: number
  readonly time: string
  readonly level: string
  /** Its trace area; empty for other lines. */
  readonly area: string
  readonly op: string
  readonly message: string
  readonly correlator: string
  readonly tenant: string
  /** As received. */
  readonly text: string
}

/** The members of a line that the page uses; each line has some of them. */
type WrittenLine = Readonly<Partial<Record<'time' | 'lvl' | 'area' | 'op' | 'msg' | 'corr' | 'srv', unknown>>>

/** Parses the event `line` of `/admin/log/tail`. */
export function readLine(text: string, number: number): LogLine {
  const { time = '', lvl = '', area = '', op = '', msg = '', corr = '', srv = '' } = fromJson<WrittenLine>(text)
  return {
    ...{ number, text, time: String(time), level: String(lvl), area: String(area), op: String(op) },
    ...{ message: String(msg), correlator: String(corr), tenant: String(srv) },
  }
}

/** The subject of a log line: its trace area, or its level and operation. */
export function WhatChip({ line: { level, area, op } }: { readonly line: LogLine }) {
  if (area !== '') return <code>{area}</code>
  const tone = level === 'ERROR' || level === 'FATAL' ? 'bad' : level === 'WARN' ? 'warning' : 'plain'
  return (
    <>
      <Chip tone={tone}>{level}</Chip> <span class="quiet">{op}</span>
    </>
  )
}
