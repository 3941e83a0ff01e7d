import { type GeoProjection, geoEquirectangular, geoGraticule, geoPath } from 'd3-geo'
import { feature } from 'topojson-client'
import land from 'world-atlas/land-110m.json'
import { colour } from '../theme.js'
import type { MapArea } from './map-area.js'

/** The view of a map: an area, and its size in CSS pixels. */
export interface MapView {
  readonly area: MapArea
  readonly width: number
  readonly height: number
  readonly project: GeoProjection
}

const least_height = 200

/** A view of an area with this many pixels of width, and a suitable height. */
export function viewOf(area: MapArea, width: number): MapView {
  const share = (area.north - area.south) / (area.east - area.west)
  const height = Math.round(Math.min(width * 0.75, Math.max(least_height, width * share)))
  const corners = {
    type: 'MultiPoint' as const,
    coordinates: [
      [area.west, area.south],
      [area.east, area.north],
    ],
  }
  const project = geoEquirectangular()
    .fitExtent(
      [
        [0, 0],
        [width, height],
      ],
      corners,
    )
    .precision(0)
  return { area, width, height, project }
}

/** The scale bar, for the middle of the map. */
export function scaleOf({ area, project }: MapView): { readonly px: number; readonly text: string } {
  const [x, y] = [(area.west + area.east) / 2, (area.south + area.north) / 2]
  const [left, right] = [project([x, y]), project([x + 0.001, y])]
  const perDegree_px = left && right ? (right[0] - left[0]) * 1000 : 1
  const km_px = perDegree_px / (111.32 * Math.max(0.01, Math.cos((y * Math.PI) / 180)))
  const wanted_km = 100 / km_px
  const power = 10 ** Math.floor(Math.log10(wanted_km))
  const km = ([5, 2, 1].find((step) => step * power <= wanted_km) ?? 1) * power
  return { px: km * km_px, text: km < 1 ? `${Math.round(km * 1000)} m` : `${km} km` }
}

const coast = feature(land, land.objects.land)

/** Points within the same few pixels are drawn as one, the larger the more there are. */
const grid_px = 3

/** Up to this many points are drawn larger: they hardly hide each other. */
const few = 1000

/** Draws coast lines, the graticule, and points, given as alternating longitudes and latitudes. */
export function drawMap(
  canvas: HTMLCanvasElement,
  { width, height, project, area }: MapView,
  points: readonly number[],
): void {
  const scale = window.devicePixelRatio || 1
  canvas.width = Math.round(width * scale)
  canvas.height = Math.round(height * scale)
  canvas.style.height = `${height}px`
  const ctx = canvas.getContext('2d')
  if (ctx === null) return
  ctx.setTransform(scale, 0, 0, scale, 0, 0)
  ctx.clearRect(0, 0, width, height)
  const path = geoPath(project, ctx)
  const span = area.east - area.west
  const step = span > 120 ? 30 : span > 40 ? 10 : span > 10 ? 5 : span > 2 ? 1 : 0.25
  draw(ctx, () => path(coast), colour('--track'), colour('--quiet'))
  draw(ctx, () => path(geoGraticule().step([step, step])()), undefined, colour('--line'))
  ctx.fillStyle = colour('--series-2')
  ctx.globalAlpha = 0.7
  const least_px = points.length < 2 * few ? 3 : 1.5
  for (const [key, count] of gathered(project, points, width, height)) {
    const [column, row] = [key % 65_536, Math.floor(key / 65_536)]
    ctx.beginPath()
    ctx.arc(
      (column + 0.5) * grid_px,
      (row + 0.5) * grid_px,
      least_px + Math.min(4, 0.8 * Math.log2(count)),
      0,
      2 * Math.PI,
    )
    ctx.fill()
  }
  ctx.globalAlpha = 1
}

function draw(ctx: CanvasRenderingContext2D, path: () => void, fill: string | undefined, stroke: string): void {
  ctx.beginPath()
  path()
  if (fill !== undefined) {
    ctx.fillStyle = fill
    ctx.fill()
  }
  ctx.strokeStyle = stroke
  ctx.lineWidth = 0.6
  ctx.stroke()
}

function gathered(
  project: GeoProjection,
  points: readonly number[],
  width: number,
  height: number,
): ReadonlyMap<number, number> {
  const counts = new Map<number, number>()
  for (let at = 0; at + 1 < points.length; at += 2) {
    const place = project([points[at] ?? 0, points[at + 1] ?? 0])
    if (place === null) continue
    const [x, y] = place
    if (x < 0 || y < 0 || x > width || y > height) continue
    const key = Math.floor(x / grid_px) + 65_536 * Math.floor(y / grid_px)
    counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  return counts
}
