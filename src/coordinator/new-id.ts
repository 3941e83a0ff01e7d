import { randomBytes } from 'node:crypto'
import type { Milliseconds } from '../time.js'

/**
 * An id for a subscription or registration: the second of its creation in eight hexadecimal digits, and sixteen at
 * random, so that no two are equal, not even after a restart within the second [subscriptions 1.4].
 */
export function newId(created: Milliseconds): string {
  const second = Math.floor(created / 1000) % 2 ** 32
  return `${second.toString(16).padStart(8, '0')}${randomBytes(8).toString('hex')}`
}
