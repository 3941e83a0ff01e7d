import type { Steps } from '../../slices.js'
import { figureNames, noCounts, type ServiceCount } from './service-metrics.js'

/**
 * Some of the counts by service and subservice as threads exchange them. They are in shared memory: a thread gets all that others send
 * to each other, and reads nothing of what is not for it.
 */
export interface PackedCounts {
  /** A line for each service and each subservice, in ASCII; two empty ones for the counts without names. */
  readonly names: Uint8Array
  /** The figures of one pair after the other. */
  readonly figures: Float64Array
}

/** The pairs that are packed, or unpacked, in one step. */
const pairsOfPiece = 128

/** Packs counts in steps, each pair as it is then. */
export function* packed(counts: readonly ServiceCount[]): Steps<readonly PackedCounts[]> {
  const pieces: PackedCounts[] = []
  for (let at = 0; at < counts.length; at += pairsOfPiece) {
    pieces.push(piece(counts.slice(at, at + pairsOfPiece)))
    yield
  }
  return pieces
}

function piece(counts: readonly ServiceCount[]): PackedCounts {
  const lines = counts.map(({ service = '', subservice = '' }) => `${service}\n${subservice}`).join('\n')
  const names = Buffer.from(new SharedArrayBuffer(lines.length))
  names.write(lines, 'latin1')
  const figures = counts.flatMap((count) => figureNames.map((name) => count[name]))
  const shared = new Float64Array(new SharedArrayBuffer(figures.length * Float64Array.BYTES_PER_ELEMENT))
  shared.set(figures)
  return { names, figures: shared }
}

/** The counts of one piece. */
export function unpacked({ names, figures }: PackedCounts): readonly ServiceCount[] {
  const lines = Buffer.from(names.buffer, names.byteOffset, names.length).toString('latin1').split('\n')
  return Array.from({ length: lines.length / 2 }, (_, at): ServiceCount => {
    const [service, subservice] = [lines[2 * at], lines[2 * at + 1]]
    const count = { service: service || undefined, subservice: subservice || undefined, ...noCounts() }
    for (const [number, name] of figureNames.entries()) count[name] = figures[at * figureNames.length + number] ?? 0
    return count
  })
}
