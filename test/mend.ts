import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** A mend of a fault, and what the program would be without it. */
export interface Mend {
  /** What the program did. */
  readonly fault: string
  /** Below `src`. */
  readonly file: string
  readonly now: string
  readonly before: string
}

const sources = fileURLToPath(new URL('../../src', import.meta.url))

/** The path of the source that has a mend. */
export function sourceOf({ file }: Mend): string {
  return join(sources, file)
}

/** The text of that source without the mend. */
export function sourceWithout(mend: Mend): string {
  const text = readFileSync(sourceOf(mend), 'utf8')
  const { file, now, before } = mend
  if (text.split(now).length !== 2) throw new Error(`${file} does not have the mend once: ${now}`)
  return text.replace(now, () => before)
}
