import type { Value } from './entity.js'
export interface Point {
  readonly latitude: number
  readonly longitude: number
}
export function parseCoordinates(value: Value): Point | undefined {
  if (typeof value !== 'string') return undefined
  const m = /^ *([+-]?[0-9.]+) *, *([+-]?[0-9.]+) *$/.exec(value)
  if (!m) return undefined
  const latitude = Number(m[1])
  const longitude = Number(m[2])
  return Math.abs(latitude) <= 90 && Math.abs(longitude) <= 180 ? { latitude, longitude } : undefined
}
