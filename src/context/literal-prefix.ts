/** Characters that mean themselves in an expression wherever they stand. Others than those of ASCII are not looked for. */
const literal = /^[\w :/@%~#&,;="'<>!-]$/

/**
 * What every text begins with that an expression matches, as far as it can be seen: the characters behind `^` that mean
 * themselves. Nothing for an expression that need not match at the beginning.
 */
export function literalPrefix(pattern: string): string | undefined {
  if (!pattern.startsWith('^') || pattern.includes('|')) return undefined
  let end = 1
  while (end < pattern.length && literal.test(pattern.charAt(end))) end += 1
  // What is repeated need not be there once. A group of flags is no part of the expression: in `^a(?)?` and `^a+(?)?` it is the `a` that the
  // last sign repeats.
  const next = pattern.charAt(end)
  const isOptional = (next !== '' && '*?{'.includes(next)) || pattern.includes('(?', end)
  const prefix = pattern.slice(1, isOptional ? end - 1 : end)
  return prefix === '' ? undefined : prefix
}
