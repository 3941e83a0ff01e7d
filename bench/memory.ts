import { existsSync, readFileSync } from 'node:fs'

/**
 * The resident memory of a process without the pages of files that are mapped into it, in MiB: LMDB's own pages are
 * those of the system's cache, which takes them back when it needs them. Nothing where the system does not say, which
 * only Linux does.
 */
export function residentBeyondFiles_MiB(pid: number): number | undefined {
  const file = `/proc/${pid}/status`
  if (!existsSync(file)) return undefined
  const status = readFileSync(file, 'utf8')
  const kibibytes = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1])
  const resident_MiB = (kibibytes('VmRSS') - kibibytes('RssFile')) / 1024
  return Number.isNaN(resident_MiB) ? undefined : resident_MiB
}
