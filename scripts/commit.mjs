// The commit that is built, the same for all that a build makes. Where there is no repository, as in an image that is being built,
// RIGEL_COMMIT says it.
import { execFileSync } from 'node:child_process'

/** What stands for the commit of a tree that is no repository, such as one from an archive. */
export const unknownCommit = 'nogitversion'

function found() {
  const { RIGEL_COMMIT: given = '' } = process.env
  if (/^[0-9a-f]{40}$/.test(given)) return given
  try {
    return execFileSync('git', ['rev-parse', 'HEAD'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  } catch {
    return unknownCommit
  }
}

/** 40 hexadecimal digits or `unknownCommit`. */
export const commit = found()
