// Writes what a build knows about itself beside it: the commit it was made from, and when. Where there is no repository,
// as in an image that is being built, RIGEL_COMMIT says the commit.
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'

function commit() {
  const { RIGEL_COMMIT: given = '' } = process.env
  if (/^[0-9a-f]{40}$/.test(given)) return given
  try {
    return execFileSync('git', ['rev-parse', 'HEAD'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  } catch {
    return 'nogitversion' // Built from an archive, not from a repository.
  }
}

const facts = { git_hash: commit(), compile_time: new Date().toISOString() }
writeFileSync(new URL('../dist/build.json', import.meta.url), `${JSON.stringify(facts)}\n`)
