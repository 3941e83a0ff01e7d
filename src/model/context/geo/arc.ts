import { type StepBudget, unbounded } from '../step-budget.js'
import { type Arc, angleToArc, dot, liesBeside, plus, times, unit, type Vector3 } from './sphere.js'

/**
 * Points that are no farther apart than this touch: an angle in radians, about six micrometres on the ground. Rounding moves a
 * point by less than a thousandth of that, and no client knows a position to a thousand times as much.
 */
export const touch = 1e-12

export function isTouching(a: Vector3, b: Vector3): boolean {
  const [x, y, z] = [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
  return x * x + y * y + z * z <= touch * touch
}

export function meets(a: Arc, b: Arc): boolean {
  return !isAside(a, b) && !isAside(b, a) && (crossing(a, b) !== undefined || touches(a, b).length > 0)
}

/** The common points of two arcs: where they cross, or where one ends at the other. */
export function commonPoints(a: Arc, b: Arc): readonly Vector3[] {
  if (isAside(a, b) || isAside(b, a)) return []
  const point = crossing(a, b)
  return point === undefined ? touches(a, b) : [point, ...touches(a, b)]
}

/** Whether an arc lies on one side of the plane of another one: a quick test for most arcs that do not meet. */
function isAside({ from, to }: Arc, { normal }: Arc): boolean {
  const [before, after] = [dot(from, normal), dot(to, normal)]
  const near = touch * touch * dot(normal, normal)
  return before * after > 0 && before * before > near && after * after > near
}

/** Where one arc passes between its ends through the plane of the other, if that point is on the other arc. */
function crossing(a: Arc, b: Arc): Vector3 | undefined {
  const [before, after] = [dot(a.from, b.normal), dot(a.to, b.normal)]
  if (before >= 0 === after >= 0) return undefined
  const point = unit(plus(times(a.from, Math.abs(after)), times(a.to, Math.abs(before))))
  return liesBeside(point, b) && angleToArc(point, b) <= touch ? point : undefined
}

function touches(a: Arc, b: Arc): readonly Vector3[] {
  return [
    ...[b.from, b.to].filter((end) => angleToArc(end, a) <= touch),
    ...[a.from, a.to].filter((end) => angleToArc(end, b) <= touch),
  ]
}

/** Fewer arcs are compared each with each. */
const sortedFrom = 16

/** Arcs sorted by latitude, so that an arc is compared only with those that can meet it. */
export class ArcTable {
  readonly #rows: readonly Row[]
  readonly #tallest: number
  readonly #budget: StepBudget

  constructor(arcs: readonly Arc[], budget = unbounded()) {
    const rows = arcs.map(rowOf)
    this.#budget = budget
    this.#rows = rows.length < sortedFrom ? rows : rows.sort((a, b) => a.low - b.low)
    this.#tallest = rows.length < sortedFrom ? 4 : rows.reduce((most, { low, high }) => Math.max(most, high - low), 0)
  }

  /** Whether one of the arcs meets this one. The result is meaningless once the step budget is spent. */
  meets(arc: Arc): boolean {
    for (const other of this.#near(arc)) if (meets(arc, other)) return true
    return false
  }

  commonPoints(arc: Arc): readonly Vector3[] {
    const points: Vector3[] = []
    for (const other of this.#near(arc)) points.push(...commonPoints(arc, other))
    return points
  }

  *#near(arc: Arc): Generator<Arc> {
    const { low, high } = rowOf(arc)
    for (let at = this.#first(low - this.#tallest); at < this.#rows.length; at += 1) {
      const row = this.#rows[at]
      if (row === undefined || !this.#budget.spend(pairSteps)) return
      if (row.low > high && this.#rows.length >= sortedFrom) return
      if (row.low <= high && row.high >= low) yield row.arc
    }
  }

  /** The first row that is not below a height. */
  #first(height: number): number {
    let [from, to] = [0, this.#rows.length < sortedFrom ? 0 : this.#rows.length]
    while (from < to) {
      const middle = (from + to) >> 1
      if ((this.#rows[middle]?.low ?? 0) < height) from = middle + 1
      else to = middle
    }
    return from
  }
}

/** The steps to compare two arcs, most of which are told apart at once. */
const pairSteps = 5

/** The lowest and highest point of an arc above the plane of the equator, in earth radii. */
interface Row {
  readonly arc: Arc
  readonly low: number
  readonly high: number
}

function rowOf(arc: Arc): Row {
  const { from, to } = arc
  // No point of an arc is farther from its chord than the middle.
  const bulge = 1 - Math.sqrt(Math.max(0, (1 + dot(from, to)) / 2)) + 2 * touch
  return { arc, low: Math.min(from[2], to[2]) - bulge, high: Math.max(from[2], to[2]) + bulge }
}
