import { granted, type Outcome, refused } from '../outcome.js'
import type { Value } from './entity.js'

export interface Area {
  readonly kind: 'circle' | 'polygon'
}

/** Why an area can not be understood; each API has its words [context 7.4.1]. */
export type AreaMalformed =
  | { readonly kind: 'shapeUnknown' }
  | { readonly kind: 'radiusMissing' }
  | { readonly kind: 'radiusZero' }
  | {
      readonly kind: 'coordinateMissing'
      readonly shape: Area['kind']
      readonly coordinate: 'latitude' | 'longitude'
    }
  | { readonly kind: 'coordinateMalformed'; readonly coordinate: 'latitude' | 'longitude' }
  | { readonly kind: 'invertedMalformed'; readonly shape: Area['kind']; readonly value: string }
  | { readonly kind: 'verticesTooFew' }

/** Stands in for the parser of areas. */
export function parseArea(value: Value): Outcome<Area, AreaMalformed> {
  const isCircle = typeof value === 'object' && value !== null && 'circle' in value
  return isCircle ? granted({ kind: 'circle' }) : refused({ kind: 'shapeUnknown' })
}
