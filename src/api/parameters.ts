/** The words of the URI parameter `options`, which paths of both interfaces take [NGSIv2 context 1.5]. */
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

/** At most one of them may be given; each stands for a form of its own [NGSIv2 context 1.5]. */
export const optionForms = ['keyValues', 'values', 'unique'] as const

/** Whether a value of `options` is a list of its words, with one form at most [NGSIv2 context 1.5], [context 1.6]. */
export function isOptions(text: string): boolean {
  const words = new Set(text.split(','))
  if (optionForms.filter((form) => words.has(form)).length > 1) return false
  for (const word of words) if (!known.has(word)) return false
  return true
}
