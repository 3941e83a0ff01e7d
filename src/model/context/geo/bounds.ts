import { touch } from './arc.js'
import type { Area, Circle } from './area.js'
import { clearance, opened, ringOf } from './ring.js'
import type { GeoShape, Point } from './shape.js'
import {
  type Arc,
  arcsThrough,
  degrees,
  dot,
  earthRadius_m,
  latitudeOf,
  lengthOf,
  liesBeside,
  plus,
  times,
  type Vector3,
  vectorOf,
} from './sphere.js'

/** All points between two latitudes and two longitudes, in degrees; `west` is never greater than `east`. */
export interface Box {
  readonly south: number
  readonly north: number
  readonly west: number
  readonly east: number
}

const world: Box = { south: -90, north: 90, west: -180, east: 180 }

/** About a centimetre: covers rounding and the undefined border. */
const margin = 1e-7

/**
 * Boxes that contain every point of an area: one, two when it reaches over the 180th meridian, the whole world for an inverted
 * one.
 */
export function boundsOf(area: Area): readonly Box[] {
  if (area.inverted) return [world]
  return area.kind === 'circle' ? boundsOfCircle(area) : boundsOfRing(area.vertices)
}

/** Whether a point lies in one of the boxes. */
export function inBoxes(boxes: readonly Box[], { latitude, longitude }: Point): boolean {
  return boxes.some(
    ({ south, north, west, east }) => latitude >= south && latitude <= north && longitude >= west && longitude <= east,
  )
}

/** Boxes that contain every point within a distance of a point, and everything that touches them. */
export function boundsOfCircle({ centre, radius_m }: Pick<Circle, 'centre' | 'radius_m'>): readonly Box[] {
  const angle = radius_m / earthRadius_m + 2 * touch
  const reach = degrees(angle)
  const south = centre.latitude - reach
  const north = centre.latitude + reach
  if (south - margin <= -90 || north + margin >= 90) return band(south, north)
  // The easternmost point of a circle without a pole is where a meridian touches it.
  const sideways = degrees(Math.asin(Math.min(1, Math.sin(angle) / Math.cos((centre.latitude * Math.PI) / 180))))
  return boxes(south, north, centre.longitude - sideways, centre.longitude + sideways)
}

/** Boxes that contain every point of a shape, and everything that touches it: one or two for each of its parts. */
export function boundsOfShape(shape: GeoShape): readonly Box[] {
  switch (shape.kind) {
    case 'points':
      return shape.points.flatMap((centre) => boundsOfCircle({ centre, radius_m: 0 }))
    case 'lines':
      return shape.lines.flatMap((line) => boundsOfArcs(line, arcsThrough(line.map(vectorOf)), () => false))
    case 'polygons':
      return shape.polygons.flatMap(([border]) => (border === undefined ? [] : boundsOfRing(opened(border))))
  }
}

function boundsOfRing(vertices: readonly Point[]): readonly Box[] {
  const { edges, holds } = ringOf(vertices)
  return boundsOfArcs([...vertices, ...vertices.slice(0, 1)], edges, holds)
}

/**
 * An area without a pole reaches no further than its border: the meridian through an inner point, followed to either pole,
 * crosses the border at the same longitude, once south and once north of the point.
 */
function boundsOfArcs(
  vertices: readonly Point[],
  arcs: readonly Arc[],
  holds: (point: Vector3) => boolean,
): readonly Box[] {
  if (arcs.some(isOpen)) return [world]
  const [hasSouth, hasNorth] = [-1, 1].map((z) => {
    const pole: Vector3 = [0, 0, z]
    return holds(pole) || degrees(clearance(pole, arcs)) <= polar
  })
  const south = hasSouth ? -90 : arcs.reduce((least, arc) => Math.min(least, extreme(arc, -1)), 90)
  const north = hasNorth ? 90 : arcs.reduce((most, arc) => Math.max(most, extreme(arc, 1)), -90)
  if (hasSouth || hasNorth) return band(south, north)
  return boxes(south, north, ...longitudesOf(vertices))
}

/** From this many degrees from a pole on, the margin exceeds the touching distance also in longitude. */
const polar = 0.04

/** Opposite points have no shorter arc between them. */
function isOpen({ from, to, normal }: Arc): boolean {
  return dot(from, to) < 0 && lengthOf(normal) < 1e-9
}

/** The latitude of the southernmost (-1) or northernmost (1) point of an arc. */
function extreme(arc: Arc, sign: -1 | 1): number {
  const { from, to, normal } = arc
  const ends = Math.max(latitudeOf(from) * sign, latitudeOf(to) * sign)
  const square = dot(normal, normal)
  if (square === 0) return ends * sign
  // Where the great circle is nearest to the pole: the pole, projected into the circle's plane.
  const top = plus([0, 0, sign], times(normal, (-sign * normal[2]) / square))
  const highest = degrees(Math.atan2(Math.hypot(normal[0], normal[1]), Math.abs(normal[2])))
  return sign * (liesBeside(top, arc) ? Math.max(ends, highest) : ends)
}

/** The range of longitudes of a walk along the vertices, counted on beyond 180 degrees. */
function longitudesOf(vertices: readonly Point[]): readonly [west: number, east: number] {
  let at = vertices[0]?.longitude ?? 0
  let [west, east] = [at, at]
  for (const { longitude } of vertices) {
    const step = longitude - at
    at += step - 360 * Math.round(step / 360)
    west = Math.min(west, at)
    east = Math.max(east, at)
  }
  return [west, east]
}

function band(south: number, north: number): readonly Box[] {
  return boxes(south, north, -180, 180)
}

function boxes(south: number, north: number, west: number, east: number): readonly Box[] {
  const latitudes = { south: Math.max(-90, south - margin), north: Math.min(90, north + margin) }
  if (east - west + 2 * margin >= 360) return [{ ...latitudes, west: -180, east: 180 }]
  const turns = 360 * Math.floor((west - margin + 180) / 360)
  const from = west - margin - turns
  const to = east + margin - turns
  if (to < 180) return [{ ...latitudes, west: from, east: to }]
  return [
    { ...latitudes, west: from, east: 180 },
    { ...latitudes, west: -180, east: to - 360 },
  ]
}
