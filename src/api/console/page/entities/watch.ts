import { useEffect, useRef, useState } from 'preact/hooks'
import type { WholeEntity } from '../../shapes.js'

/** A change that was seen. */
export interface WatchedChange {
  readonly number: number
  readonly at: string
  readonly name: string
  /** What it was changed to. */
  readonly text: string
}

/** As many changes are listed. */
const mostChanges = 50
/** How long a change is marked, in milliseconds. */
const fresh_ms = 1_500

/** What has changed of entities that are read again and again, and which of their attributes just have. */
export function useWatch(isOn: boolean, entities: readonly WholeEntity[] | undefined) {
  const [changes, setChanges] = useState<readonly WatchedChange[]>([])
  const [fresh, setFresh] = useState<ReadonlySet<string>>(new Set())
  const seen = useRef<ReadonlyMap<string, string> | undefined>(undefined)
  const counted = useRef(0)
  useEffect(() => {
    if (!isOn) seen.current = undefined
  }, [isOn])
  useEffect(() => {
    if (!isOn || entities === undefined) return
    const before = seen.current
    const now = new Map<string, string>()
    const found: WatchedChange[] = []
    const keys = new Set<string>()
    for (const { servicePath, type, attributes } of entities) {
      for (const { name, instance, value, metadata, modified } of attributes) {
        const key = `${servicePath} ${type} ${JSON.stringify([name, instance])}`
        const text = JSON.stringify(value) ?? ''
        const state = `${modified} ${text} ${JSON.stringify(metadata)}`
        now.set(key, state)
        if (before === undefined || before.get(key) === state) continue
        keys.add(key)
        counted.current += 1
        found.push({ number: counted.current, at: modified, name, text })
      }
    }
    for (const key of before?.keys() ?? []) {
      if (now.has(key)) continue
      counted.current += 1
      found.push({ number: counted.current, at: new Date().toISOString(), name: key, text: 'removed' })
    }
    seen.current = now
    if (found.length === 0) return
    setChanges((list) => [...found.toReversed(), ...list].slice(0, mostChanges))
    setFresh(keys)
    const timer = setTimeout(() => setFresh(new Set()), fresh_ms)
    return () => clearTimeout(timer)
  }, [isOn, entities])
  return { changes, fresh }
}
