import { closeSync, openSync, writeSync } from 'node:fs'
import { systemFaultText } from '../faults.js'
import { CommandFailure } from '../offline/command.js'
import type { ImportResult, NotTaken } from './import-run.js'
import { countsText } from './item.js'

/** As many are shown at the end; the file of `--report` has all. */
const shown_max = 100

/** What was not imported, or not as a whole: shown at the end, and listed in a file. */
export class ImportReport {
  readonly #file: number | undefined
  readonly #shown: string[] = []

  /** Throws `CommandFailure` when the file cannot be written. */
  constructor(path: string | undefined) {
    try {
      this.#file = path === undefined ? undefined : openSync(path, 'w', 0o600)
    } catch (fault) {
      throw new CommandFailure(`--report: ${path} cannot be written: ${systemFaultText(fault)}`)
    }
  }

  note({ where, what, reason, isPart }: NotTaken): void {
    const subject = what === '' ? where : `${where}: ${what}`
    const line = `${subject}: ${isPart ? 'imported without ' : ''}${reason}`
    if (this.#shown.length < shown_max) this.#shown.push(line)
    if (this.#file !== undefined) writeSync(this.#file, `${line}\n`)
  }

  /** What an import came to, for people. */
  text({ counts, notTaken, hasStopped }: ImportResult, isDry: boolean): string {
    const rows = (['created', 'replaced', 'skipped'] as const).flatMap((outcome) => {
      const text = countsText(counts[outcome])
      return text === 'nothing' ? [] : [`${isDry ? 'would be ' : ''}${outcome}: ${text}`]
    })
    const more = notTaken - this.#shown.length
    return [
      ...(rows.length === 0 ? ['nothing was imported'] : rows),
      ...this.#shown,
      ...(more > 0 ? [`and ${more} more: --report FILE lists them all`] : []),
      ...(hasStopped ? [isDry ? 'it stopped there: --keep-going lists all' : stopped] : []),
      '',
    ].join('\n')
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file)
  }
}

const stopped =
  'it stopped there, and what comes before is imported: correct it and go on with --on-conflict skip, or use --keep-going'
