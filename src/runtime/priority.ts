import { readlinkSync } from 'node:fs'
import { setPriority } from 'node:os'

/**
 * Lets the calling thread run after the others when processors are scarce: 1 is a little, 19 most. Linux can do that for
 * a single thread; elsewhere it stays as it is, which costs nothing but the preference. Gives whether it was done.
 */
export function giveWay(by: number): boolean {
  try {
    const thread = Number(readlinkSync('/proc/thread-self').split('/').at(-1))
    setPriority(thread, by)
    return true
  } catch {
    return false // No such link, or not allowed.
  }
}
