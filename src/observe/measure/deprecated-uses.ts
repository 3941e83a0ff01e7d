import type { LineContext, Log } from '../log/log.js'
import type { DeprecatedFeature } from './counters.js'
import type { Measures } from './measures.js'

/** Counts and logs uses of deprecated features of NGSIv2, in one thread. */
export class DeprecatedUses {
  readonly #measures: Pick<Measures, 'count' | 'switches'>
  readonly #log: Pick<Log, 'warn'>

  constructor(measures: Pick<Measures, 'count' | 'switches'>, log: Pick<Log, 'warn'>) {
    this.#measures = measures
    this.#log = log
  }

  /** Counts a use, and logs it while operators ask for such lines [management 3.2, 4.5]. */
  note(feature: DeprecatedFeature, line: string, context: LineContext | undefined): void {
    this.#measures.count(feature)
    if (this.#measures.switches.get('deprecate') !== 0) this.#log.warn('deprecated', line, {}, context)
  }
}
