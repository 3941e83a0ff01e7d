import { setTimeout as delay } from 'node:timers/promises'

/** How long something may take on a machine that stands still for seconds. */
const limit_ms = 120_000

/** How often it is looked. */
const look_ms = 5

/** Resolves when something holds; throws with what it waited for when that does not come about. */
export async function until(holds: () => boolean | Promise<boolean>, what = String(holds)): Promise<void> {
  const end_ms = performance.now() + limit_ms
  while (!(await holds())) {
    if (performance.now() > end_ms) throw new Error(`it did not come about within ${limit_ms / 1000} s: ${what}`)
    await delay(look_ms)
  }
}
