import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type Test, test } from 'tap'
import { killedProcess, type Marks, marksIn } from './killed-process.js'

/** `RIGEL_KILLS=1000` makes a long form of it. */
const kills = Number(process.env['RIGEL_KILLS'] ?? 6)

/** A model of all turns is made again at each start. */
const killsOfFolder = 50

/** So many kills hit a transaction at least once, as good as certainly. */
const enough = 50

/** About as long as a transaction takes on a slow machine. */
const transaction_ms = 20

/** The last turn that a partition had when its process began, and what it had done when it was killed. */
interface Killed extends Marks {
  readonly began: number
}

/** Begins, goes on for a while, and is killed so long after the next transaction of LMDB has begun. */
async function killed(folder: string, while_ms: number, wait_ms: number): Promise<Killed> {
  const child = spawn(process.execPath, [killedProcess, folder], { stdio: ['ignore', 'pipe', 'pipe'] })
  const exited = once(child, 'exit')
  let [said, faults] = ['', '']
  child.stderr.on('data', (text) => {
    faults += text
  })
  const saying = (what: RegExp): Promise<string> =>
    new Promise((resolve, failed) => {
      child.stdout.on('data', (text) => {
        said += text
        const found = what.exec(said)
        if (found !== null) resolve(found[0])
      })
      child.on('exit', () => failed(new Error(faults)))
    })
  try {
    const began = Number(await saying(/\d+(?=\n)/))
    await delay(while_ms)
    said = ''
    await saying(/B/)
    if (wait_ms >= 1) await delay(wait_ms)
    child.kill('SIGKILL')
    await exited
    return { began, ...marksIn(folder) }
  } finally {
    child.kill('SIGKILL')
  }
}

function newFolder(t: Test, number: number): string {
  const folder = join(t.testdirName, String(number))
  mkdirSync(join(folder, 'partition'), { recursive: true })
  return folder
}

test(`a partition whose process is killed has each turn that was committed, ${kills} times`, async (t) => {
  t.setTimeout(60_000 + kills * 20_000)
  t.testdir()
  let folder = newFolder(t, 0)
  let [before, isNew, within] = [0, true, 0]
  for (let kill = 0; kill < kills; kill += 1) {
    // Within a transaction, in its commit, soon after it, or at any moment; a checkpoint is taken once a second.
    const wait_ms = [0, Math.random() * transaction_ms, 0, Math.random() * 200][kill % 4] ?? 0
    const { began, done, isWriting } = await killed(folder, Math.random() * 2000, wait_ms)
    if (!isNew) t.ok(began === before || began === before + 1, `kill ${kill}: turn ${began}, ${before} was committed`)
    if (isWriting) within += 1
    before = done
    isNew = kill % killsOfFolder === killsOfFolder - 1
    if (isNew) [folder, before] = [newFolder(t, kill + 1), 0]
  }
  t.comment(`${within} of ${kills} within a transaction`)
  if (kills >= enough) t.ok(within > 0, 'some are killed within a transaction of LMDB')
})
