import type { Flag } from './flag.js'
import { deliveryFlags } from './flags-delivery.js'
import { foreignFlags } from './flags-foreign.js'
import { runningFlags } from './flags-running.js'
import { servingFlags } from './flags-serving.js'

/** Every flag. What is parsed, the help and the usage come from here and from nowhere else [management 9]. */
export const flags = { ...servingFlags, ...deliveryFlags, ...runningFlags, ...foreignFlags } as const

/** All of them by name, in the order of the help. */
export const flagsByName: ReadonlyMap<string, Flag> = new Map(Object.entries(flags))

/** Whether a flag needs a value after it. */
export function takesValue(flag: Flag): boolean {
  return flag.kind === 'value' || ('takes' in flag && flag.takes !== undefined)
}
