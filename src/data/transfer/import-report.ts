import { closeSync, openSync, writeSync } from 'node:fs'
import { systemFaultText } from '../../faults.js'
import type { Tenant } from '../../model/context/entity.js'
import { CommandFailure } from '../offline/command.js'
import { type ImportResult, type Remark, type RemarkKind, results } from './import-run.js'
import { countsText, type ItemCounts, itemKinds, noCounts } from './items.js'

/** This many remarks are shown at the end; the file of `--report` has all. */
const shown_max = 100

/** What is said before the reason. */
const remarkTexts: Readonly<Record<RemarkKind, string>> = {
  itemLeftOut: 'left out as a whole: ',
  partLeftOut: 'imported without ',
  partChanged: 'imported with a change: ',
  unreadable: '',
  passedOver: 'not read: ',
}

const resultTexts: Readonly<Record<(typeof results)[number], string>> = {
  created: 'created',
  replaced: 'replaced',
  skipped: 'skipped, since they exist',
  leftOut: 'left out as a whole',
  incomplete: 'imported in part',
  changed: 'imported with changes',
}

/** The remarks of an import: shown at the end, and listed in a file. */
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

  note({ kind, where, what, reason }: Remark): void {
    const subject = what === '' ? where : `${where}: ${what}`
    const line = `${subject}: ${remarkTexts[kind]}${reason}`
    if (this.#shown.length < shown_max) this.#shown.push(line)
    if (this.#file !== undefined) writeSync(this.#file, `${line}\n`)
  }

  /** The result of an import, as a text: the numbers of items, then the first remarks. */
  text({ counts, remarks, hasStopped }: ImportResult, isDry: boolean): string {
    const rows = results.flatMap((result) =>
      rowsOf(`${isDry ? 'would be ' : ''}${resultTexts[result]}`, counts[result]),
    )
    const all = Object.values(remarks).reduce((sum, count) => sum + count, 0)
    const more = all - this.#shown.length
    return [
      ...(rows.length === 0 ? ['nothing was imported'] : rows),
      ...this.#shown,
      ...(more > 0 ? [`and ${more} more: --report FILE lists them all`] : []),
      ...(hasStopped ? [isDry ? 'the import stopped there: --keep-going lists all' : stoppedText(counts)] : []),
      '',
    ].join('\n')
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file)
  }
}

/** The items with one result: a line, and one more for each tenant where there are several. */
function rowsOf(result: string, byTenant: ReadonlyMap<Tenant, Readonly<ItemCounts>>): readonly string[] {
  if (byTenant.size === 0) return []
  const total = noCounts()
  for (const counts of byTenant.values()) for (const kind of itemKinds) total[kind] += counts[kind]
  const [only] = byTenant.keys()
  if (byTenant.size === 1 && only === '') return [`${result}: ${countsText(total)}`]
  const tenants = [...byTenant].toSorted(([a], [b]) => (a < b ? -1 : 1))
  return [
    `${result}: ${countsText(total)}`,
    ...tenants.map(([tenant, counts]) => {
      return `  ${tenant === '' ? 'without a tenant' : `tenant ${tenant}`}: ${countsText(counts)}`
    }),
  ]
}

function stoppedText({ created, replaced, skipped }: ImportResult['counts']): string {
  const comesFirst = created.size + replaced.size + skipped.size > 0
  return comesFirst
    ? 'the import stopped there, and has imported what comes before: correct what is wrong and import again with --on-conflict skip, or use --keep-going'
    : 'the import stopped there: correct what is wrong and import again, or use --keep-going'
}
