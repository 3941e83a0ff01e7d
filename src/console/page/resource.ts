import { useEffect, useState } from 'preact/hooks'
import { Observable, useObservable } from './observable.js'
import { isForbidden, read, sentenceOf, signIn } from './session.js'

/** Whether all that is shown stands still. */
export const paused = new Observable(false)

/** What is known of a resource. With a value and a fault the value is stale: it is what was known at `at_ms`. */
export interface Known<Value> {
  readonly value: Value | undefined
  /** When the value was read, in milliseconds since 1970. */
  readonly at_ms: number
  readonly fault: string | undefined
  /** Whether it is for others: it is not asked for again. */
  readonly isForbidden?: boolean
}

const nothing = { value: undefined, at_ms: 0, fault: undefined }

/** How often what is shown is read again, in milliseconds. */
const usual_ms = 2_000

/**
 * A resource of the management, with the type that `shapes.ts` has for it: read at once, and again and again while the tab is looked at
 * and nothing is paused. Another path is another resource. `again` reads it now.
 */
export function useResource<Value>(
  path: string | undefined,
  every_ms = usual_ms,
): Known<Value> & { readonly again: () => void } {
  const [known, setKnown] = useState<Known<Value> & { readonly path?: string | undefined }>(nothing)
  const [asked, setAsked] = useState(0)
  const still = useObservable(paused)
  const token = useObservable(signIn)
  useEffect(() => {
    if (path === undefined || token !== 'done') return
    const gone = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const take = async (): Promise<void> => {
      if (document.visibilityState === 'visible') {
        try {
          const value = await read<Value>(path, gone.signal)
          if (!gone.signal.aborted) setKnown({ path, value, at_ms: Date.now(), fault: undefined })
        } catch (fault) {
          if (gone.signal.aborted) return
          const forbidden = isForbidden(fault)
          setKnown((before) => ({
            ...(before.path === path && !forbidden ? before : nothing),
            path,
            fault: sentenceOf(fault),
            isForbidden: forbidden,
          }))
          if (forbidden) return
        }
      }
      if (!gone.signal.aborted && !still) timer = setTimeout(take, every_ms)
    }
    void take()
    return () => {
      gone.abort()
      clearTimeout(timer)
    }
  }, [path, token, still, asked, every_ms])
  const shown = known.path === path ? known : nothing
  return { ...shown, again: () => setAsked((times) => times + 1) }
}
