import { granted, type Outcome, refused } from '../outcome.js'

export interface Pattern {
  readonly test: (text: string) => boolean
}

export interface PatternMalformed {
  readonly kind: 'patternMalformed'
}

/** Stands in for the engine that runs in linear time. */
export function compilePattern(text: string): Outcome<Pattern, PatternMalformed> {
  if (text.includes('\0') || text.includes('[') !== text.includes(']')) return refused({ kind: 'patternMalformed' })
  return granted({ test: (searched) => searched.includes(text) })
}
