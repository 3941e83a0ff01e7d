import { readFileSync } from 'node:fs'
import { map_bytes } from './environment.js'

/** What a process is about to map: LMDB ends it by a signal if the address space has no room. */
export interface NeededSpace {
  /** Environments that are open at one time. */
  readonly environments: number
  /** The size that the data of each may grow to. */
  readonly sizeMax_bytes: number
  /** For everything else that the process will still take. */
  readonly others_bytes: number
}

/** What a command takes beside environments. */
export const commandSpace_bytes = 3 * 2 ** 30

/** The address space of a process. */
export interface AddressSpace {
  readonly used_bytes: number
  /** The limit of the process (`ulimit -v`); infinite if there is none. */
  readonly limit_bytes: number
}

/**
 * Processes have 47 bits of addresses. V8 scatters its memory over the lower half, so only the upper half takes large maps; the system
 * has its stack and libraries there as well.
 */
const largest_bytes = 2 ** 46 - 2 ** 41

/** Why an address space has no room, for the operator; undefined when it has. */
export function spaceMissing(needed: NeededSpace, { used_bytes, limit_bytes }: AddressSpace): string | undefined {
  const { environments, sizeMax_bytes, others_bytes } = needed
  const each_bytes = map_bytes(sizeMax_bytes)
  const isTooLarge = used_bytes + environments * each_bytes > largest_bytes
  const needed_bytes = used_bytes + environments * each_bytes + others_bytes
  if (!isTooLarge && needed_bytes <= limit_bytes) return undefined
  const isOne = environments === 1
  const what = `the address space has no room for ${isOne ? 'a map' : `${environments} maps`} of ${inMiB(each_bytes)} MiB`
  if (isTooLarge) return `${what}: lower -dbSizeMax`
  // One after the other they have the size that is needed, whatever -dbSizeMax says.
  const orLower = isOne ? '' : ', or lower -dbSizeMax'
  return `${what} within the limit of ${inMiB(limit_bytes)} MiB: raise it (ulimit -v ${Math.ceil(needed_bytes / 1024)})${orLower}`
}

/** Why the address space of this process has no room, for the operator; undefined when it has. */
export function noSpaceFor(needed: NeededSpace): string | undefined {
  return spaceMissing(needed, addressSpace())
}

function addressSpace(): AddressSpace {
  try {
    const [, limit] = /^Max address space +(\d+) /m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    const [, kib] = /^VmSize:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? []
    return {
      used_bytes: kib === undefined ? 0 : Number(kib) * 1024,
      limit_bytes: limit === undefined ? Number.POSITIVE_INFINITY : Number(limit),
    }
  } catch {
    return { used_bytes: 0, limit_bytes: Number.POSITIVE_INFINITY } // There are no such files on this system.
  }
}

function inMiB(bytes: number): number {
  return Math.floor(bytes / 2 ** 20)
}
