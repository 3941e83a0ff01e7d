import { Chip } from '../parts/small-parts.js'
import type { LogLine } from './log-line.js'

/** What a line of the log is about: its trace area, or its level and what was done. */
export function WhatChip({ line: { level, area, op } }: { readonly line: LogLine }) {
  if (area !== '') return <code>{area}</code>
  const tone = level === 'ERROR' || level === 'FATAL' ? 'bad' : level === 'WARN' ? 'warning' : 'plain'
  return (
    <>
      <Chip tone={tone}>{level}</Chip> <span class="quiet">{op}</span>
    </>
  )
}
