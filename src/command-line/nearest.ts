import { closest, distance } from 'fastest-levenshtein'

/** The name that a mistyped word most likely means; nothing when none is alike. Case is no difference. */
export function nearest(word: string, names: readonly string[]): string | undefined {
  const lower = word.toLowerCase()
  const alike = closest(
    lower,
    names.map((name) => name.toLowerCase()),
  )
  return distance(lower, alike) <= mistakesIn(lower) ? names.find((name) => name.toLowerCase() === alike) : undefined
}

/** How many letters may be wrong, a swapped pair counting as two: with more, the guess would be a riddle. */
function mistakesIn(word: string): number {
  if (word.length < 3) return 0
  return word.length === 3 ? 1 : Math.max(2, Math.floor(word.length / 3))
}
