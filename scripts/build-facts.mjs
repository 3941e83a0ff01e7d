// Writes what a build knows about itself beside it: the commit it was made from, and when.
import { writeFileSync } from 'node:fs'
import { commit } from './commit.mjs'

const facts = { git_hash: commit, compile_time: new Date().toISOString() }
writeFileSync(new URL('../dist/build.json', import.meta.url), `${JSON.stringify(facts)}\n`)
