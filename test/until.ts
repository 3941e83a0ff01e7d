import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises'

/** How long something may take on a machine that stands still for seconds. */
const limit_ms = 120_000

/** For how long it is looked in every turn of the event loop; after that it is how long a pause takes at least. */
const look_ms = 5

/** How long a pause takes at most, and which part of the time that was waited: many a look is a request, which costs all that runs. */
const longestLook_ms = 100
const pauseShare = 1 / 20

const waiting = new Set<() => string>()

/** What is waited for now. */
export function waits(): readonly string[] {
  return Array.from(waiting, (describe) => describe())
}

type Found<T> = Exclude<Awaited<T>, false | undefined>

/**
 * Resolves with what a look finds, which is neither `false` nor `undefined`. Throws with what it waited for when that does not come
 * about; the limit begins anew whenever `progress` gives something else.
 */
export async function until<T>(
  look: () => T,
  what: string | (() => string) = String(look),
  progress: () => unknown = () => undefined,
): Promise<Found<T>> {
  const begun_ms = performance.now()
  let [since_ms, reached] = [begun_ms, progress()]
  const describe = typeof what === 'string' ? () => what : what
  waiting.add(describe)
  try {
    for (let found = await look(); ; found = await look()) {
      if (isFound(found)) return found
      const now_ms = performance.now()
      if (progress() !== reached) [since_ms, reached] = [now_ms, progress()]
      if (now_ms - since_ms > limit_ms)
        throw new Error(`it did not come about within ${limit_ms / 1000} s: ${describe()}`)
      const waited_ms = now_ms - begun_ms
      const pause_ms = Math.min(Math.max(look_ms, waited_ms * pauseShare), longestLook_ms)
      await (waited_ms < look_ms ? nextTurn() : delay(pause_ms))
    }
  } finally {
    waiting.delete(describe)
  }
}

function isFound<T>(found: Awaited<T>): found is Found<T> {
  return found !== false && found !== undefined
}

/** Looks whether a value has been the same at this number of looks in a row. */
export function isStill(looks: number, look: () => unknown): () => Promise<boolean> {
  let [same, before] = [0, Number.NaN as unknown]
  return async () => {
    const found = await look()
    same = found === before ? same + 1 : 0
    before = found
    return same >= looks
  }
}

/** Does something again and again, at most once in a turn of the event loop, as long as other work is under way; gives what that gives. */
export async function during<T>(work: Promise<T>, act: () => unknown): Promise<T> {
  let isOver = false
  const end = (): void => {
    isOver = true
  }
  work.then(end, end)
  while (!isOver) {
    const acted = act()
    await (acted instanceof Promise ? acted : nextTurn())
  }
  return work
}
