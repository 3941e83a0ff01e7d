import { helpWith } from './helper.js'
import { type LoadResult, type LoadTask, load } from './load.js'
import { loadWithAutocannon } from './load-autocannon.js'

/** Which program sends a load: our own, or autocannon. */
export type Generator = 'rigel' | 'autocannon'

export interface GeneratorTask extends LoadTask {
  readonly generator: Generator
}

helpWith<GeneratorTask, LoadResult>((task) => (task.generator === 'rigel' ? load(task) : loadWithAutocannon(task)))
