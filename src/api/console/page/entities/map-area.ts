/** An area between two meridians and two parallels, in degrees. */
export interface MapArea {
  readonly west: number
  readonly south: number
  readonly east: number
  readonly north: number
}

export const world: MapArea = { west: -180, south: -90, east: 180, north: 90 }

/** Parses the area in an address; undefined where there is none. */
export function boxOf(text: string | undefined): MapArea | undefined {
  const [west = Number.NaN, south = Number.NaN, east = Number.NaN, north = Number.NaN] = (text ?? '')
    .split(',')
    .map(Number)
  const isArea = west < east && south < north && west >= -180 && east <= 180 && south >= -90 && north <= 90
  return isArea ? { west, south, east, north } : undefined
}

/** The area as the address and the broker write it. */
export function boxText({ west, south, east, north }: MapArea): string {
  return [west, south, east, north].map((degrees) => String(Math.round(degrees * 1e5) / 1e5)).join(',')
}

/** The area with the same middle and a multiple of its size, as far as the earth reaches. */
export function widened({ west, south, east, north }: MapArea, factor: number): MapArea {
  const [x, y] = [(west + east) / 2, (south + north) / 2]
  const [dx, dy] = [((east - west) / 2) * factor, ((north - south) / 2) * factor]
  return {
    west: Math.max(-180, x - dx),
    east: Math.min(180, x + dx),
    south: Math.max(-90, y - dy),
    north: Math.min(90, y + dy),
  }
}

/** The least extent of an area around points, in degrees. */
const least_degrees = 0.01
/** The part of its extent that an area leaves free around the points. */
const margin = 0.05

/** The area of points, given as alternating longitudes and latitudes; the world without points. */
export function areaOf(points: readonly number[]): MapArea {
  let [west, south, east, north] = [180, 90, -180, -90]
  for (let at = 0; at + 1 < points.length; at += 2) {
    const [x = 0, y = 0] = [points[at], points[at + 1]]
    west = Math.min(west, x)
    east = Math.max(east, x)
    south = Math.min(south, y)
    north = Math.max(north, y)
  }
  if (west > east) return world
  const [dx, dy] = [margin * (east - west) + least_degrees / 2, margin * (north - south) + least_degrees / 2]
  return {
    west: Math.max(-180, west - dx),
    south: Math.max(-90, south - dy),
    east: Math.min(180, east + dx),
    north: Math.min(90, north + dy),
  }
}
