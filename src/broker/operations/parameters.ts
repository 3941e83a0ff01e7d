/** The words of the URI parameter `options`, which both interfaces take [NGSIv2 context 1.5]. */
const optionWords = [
  'count',
  'keyValues',
  'values',
  'unique',
  'normalized',
  'append',
  'upsert',
  'overrideMetadata',
  'forcedUpdate',
  'flowControl',
  'skipForwarding',
  'noAttrDetail',
  'dateCreated',
  'dateModified',
  'skipInitialNotification',
  'fullCounters',
  'libVersions',
] as const
export type OptionWord = (typeof optionWords)[number]

const known: ReadonlySet<string> = new Set(optionWords)

/** At most one of them may be given [NGSIv2 context 1.5]. */
export const optionForms = ['keyValues', 'values', 'unique'] as const

/** Whether a value of `options` is a list of its words, with one form at most [NGSIv2 context 1.5], [context 1.6]. */
function isOptions(text: string): boolean {
  const words = new Set(text.split(','))
  if (optionForms.filter((form) => words.has(form)).length > 1) return false
  for (const word of words) if (!known.has(word)) return false
  return true
}

/** The mistake in `options`; undefined also when they are empty or absent. */
export function wrongOptions(options: string | undefined): string | undefined {
  return !options || isOptions(options) ? undefined : 'Invalid value for URI param /options/'
}

/** Parameters with a syntax of their own, in which forbidden characters have a meaning [context 1.6], [NGSIv2 context 1.5]. */
export const freeValues: ReadonlySet<string> = new Set(['q', 'mq', 'idPattern', 'typePattern'])

/** Whether a text is a whole number in decimal digits. */
export function isDecimal(text: string): boolean {
  return /^[0-9]+$/.test(text)
}

/** The items of a page where no `limit` is given. */
export const defaultLimit = 20
const maxLimit = 1000

/** The mistake in `offset`; undefined also when it is empty or absent. */
export function wrongOffset(offset: string | undefined): string | undefined {
  return !offset || isDecimal(offset) ? undefined : `Bad pagination offset: /${offset}/ [must be a decimal number]`
}

/** The mistake in a `limit` that is a number. */
export function excessiveLimit(limit: string): string | undefined {
  return Number(limit) > maxLimit ? `Bad pagination limit: /${limit}/ [max: ${maxLimit}]` : undefined
}

/** The requested page, by checked `offset` and `limit`; an empty value counts as absent. */
export function pageGiven(parameters: ReadonlyMap<string, string>): {
  readonly offset: number
  readonly limit: number
} {
  return {
    offset: Math.min(Number(parameters.get('offset') || 0), Number.MAX_SAFE_INTEGER),
    limit: Number(parameters.get('limit') || defaultLimit),
  }
}
