import { helpWith } from './helper.js'
import { type LoadResult, type LoadTask, load } from './load.js'

/** Which program sends a load: our own, or autocannon. */
export type Generator = 'rigel' | 'autocannon'

export interface GeneratorTask extends LoadTask {
  readonly generator: Generator
}

helpWith<GeneratorTask, LoadResult>(async (task) => {
  if (task.generator === 'rigel') return load(task)
  const { loadWithAutocannon } = await import('./load-autocannon.js') // Only where it is installed.
  return loadWithAutocannon(task)
})
