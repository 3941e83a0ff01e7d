import { readdirSync, readFileSync } from 'node:fs'

/** The part of the descriptors that is left to threads, files and connections to others. */
const reserve = 1 / 4

/**
 * How many connections the process can accept and still open its files and send notifications; nothing where the system
 * does not say how many descriptors a process may have.
 */
export function connectionsWithinDescriptors():
  | { readonly connections: number; readonly descriptors: number }
  | undefined {
  try {
    const [, limit] = /^Max open files +(\d+) /m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    if (limit === undefined) return undefined
    const descriptors = Number(limit)
    const taken = readdirSync('/proc/self/fd').length
    return { connections: Math.max(1, Math.floor(descriptors * (1 - reserve)) - taken), descriptors }
  } catch {
    return undefined // No such file: not Linux.
  }
}
