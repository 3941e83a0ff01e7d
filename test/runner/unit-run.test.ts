import { spawnSync } from 'node:child_process'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'
import { until } from '../until.js'
import { briefLines, failureLines, summaryLine } from './report.js'
import { runUnit, type UnitResult } from './unit-run.js'

/** Runs files of the fixtures, as the runner does. */
async function ran(names: readonly string[], limit_ms = 120_000): Promise<UnitResult> {
  const files = names.map((name) => relative('.', fileURLToPath(new URL(`./fixtures/${name}.js`, import.meta.url))))
  const unit = { room: 'runner', name: `fixtures/${names.join('-')}`, files }
  return runUnit(unit, limit_ms, new AbortController().signal)
}

test('each assertion that fails is named by its tests and its file, and so is a teardown that throws', async (t) => {
  const result = await ran(['given-failures'])
  t.match(result, { passed: 2, skipped: 1 })
  t.same(
    result.failures.map(({ name }) => name.replace(/[^ ]*given-failures/, 'given-failures')),
    ['fails > within > a sum', 'the teardown of given-failures.js'],
  )
  const lines = failureLines([result]).join('\n')
  t.match(lines, /^FAILED fails > within > a sum$/m)
  t.match(lines, /again: npm run t test\/runner\/fixtures\/given-failures\.ts/)
  t.match(lines, /the teardown waited for nothing/)
  t.match(briefLines([result]), [
    /^failed: test\/runner\/fixtures\/given-failures\.ts: fails > within > a sum$/,
    /^failed: /,
  ])
  const [failure] = result.failures
  const long = failure ? [{ ...failure, name: `begins\n${' and goes on'.repeat(1000)}` }] : []
  t.match(briefLines([{ ...result, failures: long }])[0], /given-failures\.ts: begins and goes on[^\n]{200,240} …$/)
  t.equal(summaryLine([result], 1500), '2 passed, 2 failed, 1 skipped in 1.5 s')
})

test('a process that is killed fails by the file that it ran', async (t) => {
  const result = await ran(['given-failures', 'given-exit'])
  const last = result.failures.at(-1)
  t.match(last, { file: /given-exit\.js$/, name: 'the process goes > the process ended with SIGKILL' })
})

test('a process that takes too long is ended, and fails by the test that is under way', async () => {
  let [limit_ms, name] = [1000, '']
  // On a slow machine the test may not have begun.
  const isNamed = async () => {
    limit_ms *= 2
    name = (await ran(['given-wait'], limit_ms)).failures.at(-1)?.name ?? ''
    const ended = `the process was ended after ${limit_ms / 1000} s, the limit of a file`
    return name === `goes on > for ever > what never comes > ${ended}`
  }
  await until(isNamed, () => `the test under way is named: ${name}`)
})

test('a word that names no file, and an option that does not exist, are refused before anything runs', async (t) => {
  const main = fileURLToPath(new URL('./main.js', import.meta.url))
  for (const [word, response] of [
    ['nonsense', 'No test file or room is called nonsense; say for example "context" or "context/apply".\n'],
    ['--help', 'There is no option --help: only --system, which runs the system tests.\n'],
  ] as const) {
    const { status, stdout } = spawnSync(process.execPath, [main, 'runner/plan', word], { encoding: 'utf8' })
    t.same([status, stdout], [2, response])
  }
})
