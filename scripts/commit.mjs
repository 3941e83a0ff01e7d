// The commit that is built, the same for all that a build makes. Where there is no repository, as in an image that is being built,
// RIGEL_COMMIT says it.
import { execFileSync } from 'node:child_process'

function found() {
  const { RIGEL_COMMIT: given = '' } = process.env
  if (/^[0-9a-f]{40}$/.test(given)) return given
  try {
    return execFileSync('git', ['rev-parse', 'HEAD'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  } catch {
    return 'nogitversion' // Built from an archive, not from a repository.
  }
}

/** 40 hexadecimal digits or `nogitversion`. */
export const commit = found()
