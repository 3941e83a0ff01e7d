import { isIP } from 'node:net'
import { err, ok } from '../result.js'
import { parseTraceLevels } from '../trace.js'
import type { ValueKind } from './flag.js'

/** Integers within a range, in plain decimal digits. */
export function integer(from: number, to = Number.MAX_SAFE_INTEGER): ValueKind<number> {
  const open = to === Number.MAX_SAFE_INTEGER
  const wrong = open ? `is not an integer of at least ${from}` : `is not an integer from ${from} to ${to}`
  return {
    shown: open ? `${from} or more` : `${from} to ${to}`,
    parse: (given) => {
      const value = Number(given)
      return /^-?\d+$/.test(given) && value >= from && value <= to ? ok(value) : err(wrong)
    },
  }
}

/** One of some words. */
export function oneOf<Word extends string>(...words: readonly Word[]): ValueKind<Word> {
  return {
    shown: words.join('|'),
    parse: (given) => {
      const word = words.find((known) => known === given)
      return word === undefined ? err(`is not one of ${words.join(', ')}`) : ok(word)
    },
  }
}

/** One of some words in capital letters, given in any case. */
export function oneOfAnyCase<Word extends Uppercase<string>>(...words: readonly Word[]): ValueKind<Word> {
  const exact = oneOf(...words)
  return { shown: exact.shown, parse: (given) => exact.parse(given.toUpperCase()) }
}

/** Any text; that it is not empty is a rule of all flags. */
export function textFlag(shown: string): ValueKind<string> {
  return { shown, parse: ok }
}

/** An IPv4 or IPv6 address. */
export const address: ValueKind<string> = {
  shown: 'address',
  parse: (given) => (isIP(given) === 0 ? err('is not an IP address') : ok(given)),
}

/** A trace level expression [management 2.2]. */
export const traceLevels: ValueKind<readonly number[]> = {
  shown: 'levels',
  parse: (given) => {
    const levels = parseTraceLevels(given)
    return levels.ok ? levels : err('is not a list of trace levels from 0 to 255, such as 19,21-25')
  },
}

/** How connections to receivers of notifications are used [subscriptions 5.5]. */
export type NotificationMode =
  | { readonly kind: 'transient' | 'persistent' }
  | {
      readonly kind: 'threadpool'
      /** Attempts at a time, in place of `-notifTotal`; nothing when the flag does not say. */
      readonly total: number | undefined
      /** Attempts at a time by service. */
      readonly services: Readonly<Record<string, number>>
    }

/**
 * `transient`, `persistent` (or `permanent`) or `threadpool[:q:n[,service:q:n...]]`; the length of a queue has no effect
 * [management 9.3].
 */
export const notificationMode: ValueKind<NotificationMode> = {
  shown: 'transient|persistent|threadpool[:q:n[,service:q:n...]]',
  parse: (given) => {
    if (given === 'transient') return ok({ kind: 'transient' })
    if (given === 'persistent' || given === 'permanent') return ok({ kind: 'persistent' })
    if (given === 'threadpool') return ok({ kind: 'threadpool', total: undefined, services: {} })
    const totals = new Map<string, number>()
    for (const pool of given.split(',')) {
      const [, name, total] = /^([A-Za-z0-9_]+):[1-9]\d{0,8}:([1-9]\d{0,4})$/.exec(pool) ?? []
      if (name === undefined || totals.has(name)) return err(wrongMode)
      totals.set(name, Number(total))
    }
    const total = totals.get('threadpool')
    totals.delete('threadpool')
    return total === undefined
      ? err(wrongMode)
      : ok({ kind: 'threadpool', total, services: Object.fromEntries(totals) })
  },
}

const wrongMode = 'is not one of transient, persistent, permanent, threadpool[:q:n[,service:q:n...]]'
