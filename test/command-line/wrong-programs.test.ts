import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'

/** Command lines that no program can carry out, beside those on data, by the script of the program. */
const wrong = [
  ['src/runtime/commands/key-program.js'],
  ['src/runtime/commands/key-program.js', 'a', '--nothing'],
  ['src/runtime/commands/health-program.js', 'nowhere'],
  ['src/runtime/commands/health-program.js', 'http://127.0.0.1:9/health/ready', 'more'],
  ['src/runtime/commands/cluster-program.js', 'burn'],
  ['bench/run.js', '--nothing'],
  ['bench/feed.js', '--nothing'],
] as const

function run([script, ...words]: readonly [script: string, ...words: string[]]) {
  const program = fileURLToPath(new URL(`../../${script}`, import.meta.url))
  return spawnSync(process.execPath, [program, ...words], { encoding: 'utf8' })
}

test('a wrong command line of each program ends with 2 and a line on stderr, and what fails with 1', async (t) => {
  for (const words of wrong) {
    const { status, stdout, stderr } = run(words)
    t.equal(status, 2, words.join(' '))
    t.equal(stdout, '', words.join(' '))
    t.not(stderr, '', words.join(' '))
  }
  const { status, stderr } = run(['src/runtime/commands/health-program.js', 'http://127.0.0.1:9/health/ready'])
  t.equal(status, 1)
  t.match(stderr, /^not ready: /)
})
