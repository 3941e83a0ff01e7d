import type { Scope } from '../query.js'
import { type Box, boundsOf, boundsOfCircle, boundsOfShape } from './bounds.js'
import type { Place } from './place.js'
import type { GeoShape, Point } from './shape.js'

/**
 * A square of a map of the earth that is divided in four again and again: level 0 has one cell, level 26 has 2^52, half a metre
 * wide. The numbers of all cells within a coarser cell are consecutive.
 */
export interface Cell {
  readonly level: number
  readonly number: number
}

/** Cells of the finest level, by consecutive numbers. */
export interface CellRange {
  readonly first: number
  readonly last: number
}

const finest = 26
const width = 2 ** finest

/** The levels by which locations are indexed; shapes other than points use every second one. */
const cellLevels: readonly number[] = Array.from({ length: finest / 2 + 1 }, (_, at) => 2 * at)

/** A location is indexed by at most this many cells; coarser ones take the place of more. */
const maxCells = 32

/**
 * The cells by which a location is indexed: the finest one for a point; for every part of another shape at most four of about its
 * size. Together they contain all of it.
 */
export function cellsOf(shape: GeoShape): readonly Cell[] {
  if (shape.kind === 'points' && shape.points.length === 1) return shape.points.map(cellOfPoint)
  const squares = shape.kind === 'points' ? shape.points.map(squareOfPoint) : boundsOfShape(shape).map(squareOf)
  for (const coarsest of cellLevels.toReversed()) {
    const cells = new Map<string, Cell>()
    for (const square of squares) {
      for (const cell of cellsOfSquare(square, coarsest)) cells.set(`${cell.level} ${cell.number}`, cell)
      if (cells.size > maxCells) break
    }
    if (cells.size <= maxCells) return [...cells.values()]
  }
  return [{ level: 0, number: 0 }]
}

/** The cells of a level that contain finest cells of the ranges, as ranges of that level. */
export function atLevel(ranges: readonly CellRange[], level: number): readonly CellRange[] {
  const share = 4 ** (finest - level)
  return joined(ranges.map(({ first, last }) => ({ first: Math.floor(first / share), last: Math.floor(last / share) })))
}

/** Cells that contain everything that meets all areas and places of a query; undefined when that may be anywhere. */
export function coverOf(scopes: readonly Scope[]): readonly CellRange[] | undefined {
  for (const scope of scopes) {
    const bounds = boundsOfScope(scope)
    if (bounds !== undefined && !bounds.some(isWorld)) return coverOfSquares(bounds.map(squareOf))
  }
  return undefined
}

/** Cells that contain everything that meets one of the boxes. */
export function coverOfBoxes(boxes: readonly Box[]): readonly CellRange[] {
  return boxes.some(isWorld) ? [{ first: 0, last: width * width - 1 }] : coverOfSquares(boxes.map(squareOf))
}

export function middleOf({ level, number }: Cell): Point {
  const side = 2 ** (finest - level)
  const first = number * side * side
  const column = deinterleaved(first) + side / 2
  const row = deinterleaved(Math.floor(first / 2)) + side / 2
  return { longitude: (column / width) * 360 - 180, latitude: (row / width) * 180 - 90 }
}

function boundsOfScope(scope: Scope): readonly Box[] | undefined {
  if (scope.kind === 'area') return boundsOf(scope.area)
  return scope.kind === 'place' ? boundsOfPlace(scope.place) : undefined
}

function boundsOfPlace(place: Place): readonly Box[] | undefined {
  if (place.relation === 'disjoint') return undefined
  if (place.relation !== 'near') return boundsOfShape(place.shape)
  const { centre, maxDistance_m } = place
  return maxDistance_m === undefined ? undefined : boundsOfCircle({ centre, radius_m: maxDistance_m })
}

function isWorld({ south, north, west, east }: Box): boolean {
  return south === -90 && north === 90 && west === -180 && east === 180
}

/** Cells of the finest level between two columns and two rows. */
interface Square {
  readonly west: number
  readonly east: number
  readonly south: number
  readonly north: number
}

function squareOf({ south, north, west, east }: Box): Square {
  return { west: columnOf(west), east: columnOf(east), south: rowOf(south), north: rowOf(north) }
}

function squareOfPoint({ latitude, longitude }: Point): Square {
  return squareOf({ south: latitude, north: latitude, west: longitude, east: longitude })
}

function cellOfPoint({ latitude, longitude }: Point): Cell {
  return { level: finest, number: interleaved(columnOf(longitude), rowOf(latitude)) }
}

function columnOf(longitude: number): number {
  return Math.min(width - 1, Math.max(0, Math.floor(((longitude + 180) / 360) * width)))
}

function rowOf(latitude: number): number {
  return Math.min(width - 1, Math.max(0, Math.floor(((latitude + 90) / 180) * width)))
}

/** The cells of the finest level whose width and height reach those of the square, none coarser than the given level. */
function cellsOfSquare({ west, east, south, north }: Square, highest: number): readonly Cell[] {
  const side = Math.max(east - west, north - south)
  let level = highest
  while (level > 0 && 2 ** (finest - level) <= side) level -= 2
  const share = 2 ** (finest - level)
  const cells: Cell[] = []
  for (let column = Math.floor(west / share); column <= Math.floor(east / share); column += 1) {
    for (let row = Math.floor(south / share); row <= Math.floor(north / share); row += 1) {
      cells.push({ level, number: interleaved(column, row) })
    }
  }
  return cells
}

/** About how many ranges are read for one query. */
const maxRanges = 48

/** About as many ranges as may be read that contain the squares: more ranges contain less beside the squares. */
function coverOfSquares(squares: readonly Square[]): readonly CellRange[] {
  const ranges: CellRange[] = []
  let partly: readonly Tile[] = [{ column: 0, row: 0, side: width }]
  while (partly.length > 0 && ranges.length + partly.length * 4 <= maxRanges) {
    const next: Tile[] = []
    for (const tile of partly.flatMap(quarters)) {
      const { column, row, side } = tile
      const meets = squares.filter(
        ({ west, east, south, north }) => column <= east && column + side > west && row <= north && row + side > south,
      )
      const isWhole = meets.some(
        ({ west, east, south, north }) =>
          column >= west && column + side - 1 <= east && row >= south && row + side - 1 <= north,
      )
      if (isWhole) ranges.push(rangeOf(tile))
      else if (meets.length > 0) next.push(tile)
    }
    partly = next
  }
  return joined([...ranges, ...partly.map(rangeOf)])
}

/** A cell of any level by its columns and rows of the finest level. */
interface Tile {
  readonly column: number
  readonly row: number
  readonly side: number
}

function quarters({ column, row, side }: Tile): readonly Tile[] {
  const quarter = side / 2
  return [
    { column, row, side: quarter },
    { column: column + quarter, row, side: quarter },
    { column, row: row + quarter, side: quarter },
    { column: column + quarter, row: row + quarter, side: quarter },
  ]
}

function rangeOf({ column, row, side }: Tile): CellRange {
  const first = interleaved(column, row)
  return { first, last: first + side * side - 1 }
}

/** Ranges in order, with overlapping and adjacent ones joined. */
function joined(ranges: readonly CellRange[]): readonly CellRange[] {
  const whole: CellRange[] = []
  for (const range of [...ranges].sort((a, b) => a.first - b.first)) {
    const before = whole.at(-1)
    if (before === undefined || range.first > before.last + 1) whole.push(range)
    else whole[whole.length - 1] = { first: before.first, last: Math.max(before.last, range.last) }
  }
  return whole
}

const half = 2 ** (finest / 2)

/** Interleaves the bits of two numbers, those of the row first. */
function interleaved(column: number, row: number): number {
  const high = (spread(Math.floor(row / half)) << 1) | spread(Math.floor(column / half))
  const low = (spread(row % half) << 1) | spread(column % half)
  return high * half * half + low
}

/** The 13 bits of a number with a zero before each. */
function spread(bits: number): number {
  let spaced = bits
  spaced = (spaced | (spaced << 8)) & 0x00ff00ff
  spaced = (spaced | (spaced << 4)) & 0x0f0f0f0f
  spaced = (spaced | (spaced << 2)) & 0x33333333
  return (spaced | (spaced << 1)) & 0x55555555
}

/** Every second bit of a number, beginning with the lowest. */
function deinterleaved(number: number): number {
  const high = gathered(Math.floor(number / (half * half)))
  return high * half + gathered(number % (half * half))
}

/** Every second one of 26 bits, side by side. */
function gathered(bits: number): number {
  let close = bits & 0x55555555
  close = (close | (close >> 1)) & 0x33333333
  close = (close | (close >> 2)) & 0x0f0f0f0f
  close = (close | (close >> 4)) & 0x00ff00ff
  return (close | (close >> 8)) & 0x0000ffff
}
