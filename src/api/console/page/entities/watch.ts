import { useEffect, useRef, useState } from 'preact/hooks'
import type { WholeAttribute, WholeEntity } from '../../shapes.js'

/** A change that was seen. */
export interface WatchedChange {
  readonly number: number
  readonly at: string
  readonly name: string
  /** What it was changed to. */
  readonly text: string
}

/** What was last seen of an attribute. */
interface Seen {
  readonly name: string
  readonly state: string
}

/** What was last seen of the attributes of some entities, by `attributeKey`. */
export type SeenAttributes = ReadonlyMap<string, Seen>

/** Tells the attributes of entities of one id apart. */
export function attributeKey(
  { servicePath, type }: Pick<WholeEntity, 'servicePath' | 'type'>,
  { name, instance }: Pick<WholeAttribute, 'name' | 'instance'>,
): string {
  return JSON.stringify([servicePath, type, name, instance])
}

/** What is seen of entities now, and what has changed since `before`; nothing has if nothing was seen before. */
export function comparedWith(
  before: SeenAttributes | undefined,
  entities: readonly WholeEntity[],
  now: string,
): {
  readonly seen: SeenAttributes
  readonly changes: readonly Omit<WatchedChange, 'number'>[]
  /** Keys of those that are new or have changed. */
  readonly fresh: ReadonlySet<string>
} {
  const seen = new Map<string, Seen>()
  const changes: Omit<WatchedChange, 'number'>[] = []
  const fresh = new Set<string>()
  for (const entity of entities) {
    for (const attribute of entity.attributes) {
      const { name, value, metadata, modified } = attribute
      const key = attributeKey(entity, attribute)
      const text = JSON.stringify(value) ?? ''
      const state = `${modified} ${text} ${JSON.stringify(metadata)}`
      seen.set(key, { name, state })
      if (before === undefined || before.get(key)?.state === state) continue
      fresh.add(key)
      changes.push({ at: modified, name, text })
    }
  }
  for (const [key, { name }] of before ?? []) {
    if (!seen.has(key)) changes.push({ at: now, name, text: 'removed' })
  }
  return { seen, changes, fresh }
}

/** The number of listed changes. */
const mostChanges = 50
/** How long a change is marked, in milliseconds. */
const fresh_ms = 1_500

/** What has changed of entities that are read again and again, and which of their attributes just have. */
export function useWatch(isOn: boolean, entities: readonly WholeEntity[] | undefined) {
  const [changes, setChanges] = useState<readonly WatchedChange[]>([])
  const [fresh, setFresh] = useState<ReadonlySet<string>>(new Set())
  const seen = useRef<SeenAttributes | undefined>(undefined)
  const counted = useRef(0)
  useEffect(() => {
    if (!isOn) seen.current = undefined
  }, [isOn])
  useEffect(() => {
    if (!isOn || entities === undefined) return
    const found = comparedWith(seen.current, entities, new Date().toISOString())
    seen.current = found.seen
    if (found.changes.length === 0) return
    const numbered = found.changes.map((change, at) => ({ ...change, number: counted.current + at }))
    counted.current += numbered.length
    setChanges((list) => [...numbered.toReversed(), ...list].slice(0, mostChanges))
    setFresh(found.fresh)
    const timer = setTimeout(() => setFresh(new Set()), fresh_ms)
    return () => clearTimeout(timer)
  }, [isOn, entities])
  return { changes, fresh }
}
