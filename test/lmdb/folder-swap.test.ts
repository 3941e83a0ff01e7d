import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { test } from 'tap'
import {
  beginNext,
  decideSwap,
  finishSwap,
  forgetPrevious,
  hasPrevious,
  previousFolder,
} from '../../src/storage/folder/folder-swap.js'
import { made, opened, tried } from './given-folder.js'

/** A folder of two partitions, with one of three that is to take its place. */
async function given(path: string): Promise<{ readonly old: string; readonly next: string }> {
  await made(path, 2)
  const next = beginNext(path)
  await made(next, 3)
  return { old: idOf(path), next: idOf(next) }
}

function idOf(path: string): string {
  return JSON.parse(readFileSync(join(path, 'format.json'), 'utf8')).folder
}

/** Which folder it is to whoever opens it. */
async function openedAs(path: string): Promise<string> {
  const folder = await opened(path)
  if (typeof folder === 'string') return folder
  folder.release()
  return folder.id
}

/** Takes this many steps and no more, as a process that is killed then; says whether there was one more. */
function stoppedAfter(path: string, count: number): boolean {
  const steps = finishSwap(path)
  for (let taken = 0; taken < count; taken += 1) if (steps.next().done) return false
  return true
}

test('stopped after any step, a swap that was decided is gone on with, and one that was not leaves the folder as it was', async (t) => {
  const template = join(t.testdir(), 'template')
  const ids = await given(template)
  let stops = 0
  for (let count = 0; ; count += 1) {
    const folder = join(t.testdirName, `stopped-${count}`)
    cpSync(template, folder, { recursive: true })
    t.ok(decideSwap(folder, 'next').ok)
    const wasStopped = stoppedAfter(folder, count)
    t.equal(await openedAs(folder), ids.next, `after ${count} steps`)
    t.equal(await openedAs(previousFolder(folder)), ids.old)
    t.same(readdirSync(folder).sort(), [
      'control',
      'format.json',
      'partition-0',
      'partition-1',
      'partition-2',
      'previous',
    ])
    stops += 1
    if (!wasStopped) break
  }
  t.ok(stops > 10, `${stops} places`)
  t.equal(await openedAs(template), ids.old, 'nobody decided')
  t.notOk(existsSync(join(template, 'next')))
})

test('in the middle of a swap no version of the program takes the folder for a whole one', async (t) => {
  const folder = t.testdir()
  await given(folder)
  decideSwap(folder, 'next')
  const steps = finishSwap(folder)
  for (let step = steps.next(); step.value !== 'format.json has entered'; step = steps.next()) {
    t.notOk(existsSync(join(folder, 'format.json')), String(step.value))
  }
  t.ok(existsSync(join(folder, 'format.json')))
})

test('previous members take their places back and forth, stopped after any step', async (t) => {
  const template = join(t.testdir(), 'template')
  const ids = await given(template)
  decideSwap(template, 'next')
  for (const _ of finishSwap(template));
  for (let count = 0, wasStopped = true; wasStopped; count += 1) {
    const folder = join(t.testdirName, `back-${count}`)
    cpSync(template, folder, { recursive: true })
    t.ok(decideSwap(folder, 'previous').ok)
    wasStopped = stoppedAfter(folder, count)
    t.equal(await openedAs(folder), ids.old, `after ${count} steps`)
    t.equal(await openedAs(previousFolder(folder)), ids.next)
  }
})

test('previous members are never replaced in silence; forgotten, they make room', async (t) => {
  const folder = t.testdir()
  await given(folder)
  decideSwap(folder, 'next')
  for (const _ of finishSwap(folder));
  await made(beginNext(folder), 1)
  t.match(decideSwap(folder, 'next'), { ok: false, error: { reason: /previous holds what was replaced before/ } })
  t.ok(forgetPrevious(folder))
  t.notOk(hasPrevious(folder))
  t.notOk(forgetPrevious(folder))
  t.ok(decideSwap(folder, 'next').ok)
  t.match(await opened(folder), { partitions: 1 })
})

test('what cannot be moved is refused before anything is', async (t) => {
  const folder = t.testdir()
  await given(folder)
  renameSync(join(folder, 'partition-1'), join(folder, 'elsewhere'))
  symlinkSync('elsewhere', join(folder, 'partition-1'))
  t.match(decideSwap(folder, 'next'), { ok: false, error: { reason: /partition-1 is a link/ } })
  t.match(decideSwap(folder, 'previous'), { ok: false, error: { reason: /previous\/format.json is missing/ } })
  t.notOk(existsSync(join(folder, 'swap.json')))
})

test('a folder named next that no swap has made stays, and a note that says nothing refuses the start', async (t) => {
  const folder = t.testdir()
  await made(folder, 1)
  mkdirSync(join(folder, 'next'))
  writeFileSync(join(folder, 'next', 'letters.txt'), 'mine')
  t.equal(await tried(folder), 'opened')
  t.ok(existsSync(join(folder, 'next', 'letters.txt')))
  writeFileSync(join(folder, 'swap.json'), '{}')
  t.match(await tried(folder), /swap.json is damaged/)
})
