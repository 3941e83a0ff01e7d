import type { Point } from './location.js'

/** A part of the earth's surface; `inverted` means all the rest of it [context 7.4.1]. Plain data. */
export type Area = Circle | Polygon

export interface Circle {
  readonly kind: 'circle'
  readonly centre: Point
  readonly radius_m: number
  readonly inverted: boolean
}

export interface Polygon {
  readonly kind: 'polygon'
  /** At least three, the last not the first again. */
  readonly vertices: readonly Point[]
  readonly inverted: boolean
}
