import { readdirSync, readFileSync } from 'node:fs'
import { availableParallelism, freemem, totalmem } from 'node:os'

/** The memory that there is for the process: that of the machine, or of its container where that has less. */
export function memoryLimit_bytes(): number {
  const constrained = process.constrainedMemory() ?? 0
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem()
}

/**
 * The memory that the process holds: without the pages of mapped files, which the system takes back when it needs them.
 * Where the system does not tell them apart, they are in it.
 */
export function memoryUsed_bytes(): number {
  try {
    const [, kib] = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? []
    if (kib !== undefined) return Number(kib) * 1024
  } catch {
    // There is no such file on this system.
  }
  return process.memoryUsage.rss()
}

/** What the process may still take: less than its limit leaves it where other processes have taken what there was. */
export function memoryLeft_bytes(): number {
  return Math.max(0, Math.min(memoryLimit_bytes() - memoryUsed_bytes(), freemem()))
}

/** The descriptors of the process: of files, connections and threads. */
export interface Descriptors {
  /** How many it may have (`ulimit -n`). */
  readonly limit: number
  readonly open: number
}

/** Undefined where the system does not say how many there may be. */
export function descriptors(): Descriptors | undefined {
  try {
    const [, limit] = /^Max open files +(\d+) /m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return limit === undefined ? undefined : { limit: Number(limit), open: readdirSync('/proc/self/fd').length }
  } catch {
    return undefined // There are no such files on this system.
  }
}

/** Half of these processors, from 1 to 8: as many front ends, and as many partitions, when no number is asked for. */
export function halfOf(processors: number): number {
  return Math.min(8, Math.max(1, Math.floor(processors / 2)))
}

export const halfTheProcessors = halfOf(availableParallelism())
