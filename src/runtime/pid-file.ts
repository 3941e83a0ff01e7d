import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { err, ok, type Result } from '../result.js'

/** A file that holds the number of this process until it is released [management 12.3]. */
export interface PidFile {
  release(): void
}

/** Writes the file. A leftover of a process that is gone is replaced; one of a living process is refused. */
export function writePidFile(path: string): Result<PidFile, string> {
  try {
    const pid = heldPid(path)
    if (pid !== undefined && pid !== process.pid && lives(pid)) {
      return err(`PID-file '${path}' found, a broker seems to be running already (PID: ${pid})`)
    }
    writeFileSync(path, `${process.pid}\n`)
    return ok({ release: () => rmSync(path, { force: true }) })
  } catch (fault) {
    return err(`PID-file '${path}' cannot be written: ${fault instanceof Error ? fault.message : String(fault)}`)
  }
}

function heldPid(path: string): number | undefined {
  try {
    const text = readFileSync(path, 'utf8').trim()
    return /^\d+$/.test(text) ? Number(text) : undefined
  } catch (fault) {
    if (fault instanceof Error && 'code' in fault && fault.code === 'ENOENT') return undefined
    throw fault
  }
}

function lives(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (fault) {
    return fault instanceof Error && 'code' in fault && fault.code === 'EPERM'
  }
}
