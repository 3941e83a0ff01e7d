import { readlinkSync } from 'node:fs'
import { setPriority } from 'node:os'

/**
 * Lowers the priority of the calling thread, for when processors are scarce: 1 is a little, 19 most. Only Linux can do
 * that for a single thread; elsewhere nothing changes. Gives whether it was done.
 */
export function giveWay(by: number): boolean {
  try {
    const thread = Number(readlinkSync('/proc/thread-self').split('/').at(-1))
    setPriority(thread, by)
    return true
  } catch {
    return false // The link is missing, or it is not allowed.
  }
}
