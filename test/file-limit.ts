import { spawnSync } from 'node:child_process'
import type { RunningBroker } from './running.js'

const hasLimits = spawnSync('prlimit', ['--version']).status === 0

/** Why tests are skipped that limit files; false where they can. */
export const withoutFileLimits = hasLimits ? false : 'there is no prlimit'

/** Lets the files of a running broker grow up to a length, or `unlimited`: beyond it every write fails. */
export function limitFiles(broker: RunningBroker, bytes: string): void {
  const { status, stderr } = spawnSync('prlimit', ['--pid', `${broker.pid}`, `--fsize=${bytes}:unlimited`])
  if (status !== 0) throw new Error(`the limit cannot be set: ${stderr}`)
}
