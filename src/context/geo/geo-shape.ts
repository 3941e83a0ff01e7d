import { type Point, samePoint } from './point.js'

/**
 * What an entity or a query occupies on the earth; plain data. A shape of one part and a multi-kind with that part alone
 * are the same shape.
 */
export type GeoShape =
  | { readonly kind: 'points'; readonly points: readonly Point[] }
  /** Each of at least two points, joined by arcs of great circles. */
  | { readonly kind: 'lines'; readonly lines: readonly (readonly Point[])[] }
  | { readonly kind: 'polygons'; readonly polygons: readonly Rings[] }

/** The border of a polygon, then those of its holes; each of at least four points, the last equal to the first. */
export type Rings = readonly (readonly Point[])[]

/** As many points as a shape may have: a relation looks at each of them for each entity. */
export const maxPoints = 10_000

/** How many points a shape has. */
export function pointCount(shape: GeoShape): number {
  switch (shape.kind) {
    case 'points':
      return shape.points.length
    case 'lines':
      return countIn(shape.lines)
    case 'polygons':
      return shape.polygons.reduce((sum, rings) => sum + countIn(rings), 0)
  }
}

/**
 * Whether two shapes are the same, coordinate by coordinate: parts, rings and points in the same order
 * [NGSIv2 context 10.4].
 */
export function sameShape(a: GeoShape, b: GeoShape): boolean {
  if (a.kind === 'points') return b.kind === 'points' && sameItems(a.points, b.points, samePoint)
  if (a.kind === 'lines') return b.kind === 'lines' && sameItems(a.lines, b.lines, samePoints)
  return b.kind === 'polygons' && sameItems(a.polygons, b.polygons, (left, right) => sameItems(left, right, samePoints))
}

function samePoints(a: readonly Point[], b: readonly Point[]): boolean {
  return sameItems(a, b, samePoint)
}

function sameItems<Item>(a: readonly Item[], b: readonly Item[], same: (a: Item, b: Item) => boolean): boolean {
  if (a.length !== b.length) return false
  return a.every((item, at) => {
    const other = b[at]
    return other !== undefined && same(item, other)
  })
}

function countIn(lists: readonly (readonly Point[])[]): number {
  return lists.reduce((sum, { length }) => sum + length, 0)
}
