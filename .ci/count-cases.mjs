// Counts the cases that a run of the conformance runner has written as JSON. Those that contradict the specification are
// listed in faulty-cases.json, each with the reason, and count neither way.
import { readFileSync } from 'node:fs'

const [results] = process.argv.slice(2)
const { cases } = JSON.parse(readFileSync(results, 'utf8'))
const faulty = JSON.parse(readFileSync(new URL('faulty-cases.json', import.meta.url), 'utf8'))
const isFaulty = ({ file, name }) => faulty.some((known) => known.file === file && known.name === name)
const counted = cases.filter((each) => !isFaulty(each))
const count = (status) => counted.filter((each) => each.status === status).length
for (const each of cases.filter(isFaulty))
  process.stdout.write(`not counted, ${each.status}: ${each.file}: ${each.name}\n`)
process.stdout.write(`${count('passed')} passed, ${count('failed')} failed, ${count('skipped')} skipped\n`)
