import { type Reader, readList, readMap, readMembers, readNumber, readText } from '../raw.js'

/** A slow request. */
export interface SlowShown {
  /** Tells it from others. */
  readonly key: string
  readonly time_ms: number
  readonly method: string
  readonly route: string
  readonly status: number
  readonly request_bytes: number
  readonly duration_ms: number
  readonly stages_ms: ReadonlyMap<string, number>
  readonly tenant: string
  readonly correlator: string
}

/** What `/admin/slow` says; 0 when none is kept. */
export interface Slow {
  readonly above: number
  readonly requests: readonly SlowShown[]
}

/** The stages in their order. */
export const stageColours = [
  { stage: 'permit', className: 'first' },
  { stage: 'parse', className: 'second' },
  { stage: 'operation', className: 'third' },
  { stage: 'render', className: 'fourth' },
] as const

const reading = readMembers({
  above: readNumber,
  requests: readList(
    readMembers({
      ...{ time_ms: readNumber, method: readText, route: readText, status: readNumber, request_bytes: readNumber },
      ...{ duration_ms: readNumber, stages_ms: readMap(readNumber), tenant: readText, correlator: readText },
    }),
  ),
})

/** Reads `/admin/slow`. */
export const readSlow: Reader<Slow> = (raw) => {
  const { above, requests } = reading(raw)
  const seen = new Map<string, number>()
  return {
    above,
    requests: requests.map((request) => {
      const name = `${request.time_ms} ${request.correlator} ${request.duration_ms}`
      const times = (seen.get(name) ?? 0) + 1
      seen.set(name, times)
      return { ...request, key: `${name} ${times}` }
    }),
  }
}
