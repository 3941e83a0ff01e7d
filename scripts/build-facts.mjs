// Writes what a build knows about itself beside it: the commit it was made from, and when.
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'

function commit() {
  try {
    return execFileSync('git', ['rev-parse', 'HEAD'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
  } catch {
    return 'nogitversion' // Built from an archive, not from a repository.
  }
}

const facts = { git_hash: commit(), compile_time: new Date().toISOString() }
writeFileSync(new URL('../dist/build.json', import.meta.url), `${JSON.stringify(facts)}\n`)
