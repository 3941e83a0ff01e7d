/** A list that is this short is searched faster than a set is made. */
const searchedQuickly = 8

const sets = new WeakMap<readonly string[], ReadonlySet<string>>()

/** Whether a list of names, which never changes, has a name in it. It may be long, and asked very often. */
export function isListed(name: string, names: readonly string[]): boolean {
  if (names.length <= searchedQuickly) return names.includes(name)
  const known = sets.get(names)
  if (known !== undefined) return known.has(name)
  const made = new Set(names)
  sets.set(names, made)
  return made.has(name)
}
