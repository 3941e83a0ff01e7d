import { cpSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Test, test } from 'tap'
import { Checkpoints, restoreCheckpoint } from '../../src/storage/environment/checkpoint.js'
import { openDatabase, openRoot } from '../../src/storage/environment/environment.js'
import { type FolderMember, notedBy } from '../../src/storage/folder/member.js'
import { removeDraft, swapMember } from '../../src/storage/folder/member-swap.js'
import { filled, made, tried } from './given-folder.js'

const settings = { everyPage_bytes: 2 ** 26, maxReaders: 64 }
const environment = { readOnly: false, maxReaders: 64, sizeMax_bytes: 2 ** 28 }

function memberOf(folder: string): FolderMember {
  return { name: 'partition-0', path: join(folder, 'partition-0') }
}

/** A data folder whose partition has this many records, as its last checkpoint says, of which the log has a number. */
async function givenFolder(path: string, records: number, applied: number): Promise<string> {
  await made(path, 1)
  const member = memberOf(path)
  await filled(member.path, records)
  const checkpoints = Checkpoints.open(member.path, environment)
  const { root } = checkpoints
  openDatabase(root, 'facts').putSync(['applied'], String(applied))
  checkpoints.takeSync(`cluster ${applied}`)
  checkpoints.close()
  await root.close()
  return path
}

async function recordsIn({ path }: FolderMember): Promise<number> {
  const root = openRoot(path, environment)
  const count = openDatabase(root, 'records').getCount()
  await root.close()
  return count
}

async function* piecesOf(bytes: Buffer): AsyncGenerator<Buffer, void> {
  for (let at = 0; at < bytes.length; at += 50_000) yield bytes.subarray(at, at + 50_000)
}

/** A folder of 50 records, and the file of another one that has 100. */
async function givenBoth(t: Test) {
  const path = t.testdir()
  const old = await givenFolder(join(path, 'old'), 50, 7)
  const other = await givenFolder(join(path, 'other'), 100, 900)
  const file = readFileSync(join(memberOf(other).path, 'data.mdb'))
  const id: string = JSON.parse(readFileSync(join(old, 'format.json'), 'utf8')).folder
  /** A copy of the folder, to be tried on. */
  const fresh = (name: string): string => {
    cpSync(old, join(path, name), { recursive: true })
    return join(path, name)
  }
  return { fresh, file, id }
}

test('stopped after any step, a member is what it was or what it is to be, and the next swap comes to its end', async (t) => {
  const { fresh, file, id } = await givenBoth(t)
  const seen: string[] = []
  for (let stop = 0; ; stop += 1) {
    const folder = fresh(`stopped-${stop}`)
    const member = memberOf(folder)
    const steps = swapMember(member, id, piecesOf(file), settings)
    for (let step = 0; step < stop; step += 1) {
      const { done, value } = await steps.next()
      if (!done && step === seen.length) seen.push(value)
    }
    await steps.return()
    const isNew = stop >= 1 + seen.indexOf('it is in its place') && seen.includes('it is in its place')
    t.equal(await tried(folder), 'opened', `after ${stop} steps`)
    t.same([await recordsIn(member), await notedBy(member, settings)], isNew ? [100, 900] : [50, 7])
    for await (const step of swapMember(member, id, piecesOf(file), settings)) t.type(step, 'string')
    t.equal(await tried(folder), 'opened')
    t.same([await recordsIn(member), await notedBy(member, settings)], [100, 900])
    t.notOk(existsSync(join(member.path, 'fetched')))
    if (stop > seen.length) break
  }
  t.equal(seen.length, 5)
})

test('what ends before its end, or is damaged, takes no place', async (t) => {
  const { fresh, file, id } = await givenBoth(t)
  const folder = fresh('kept')
  const member = memberOf(folder)
  async function* ending(): AsyncGenerator<Buffer, void> {
    yield file.subarray(0, 50_000)
    throw new Error('cut')
  }
  await t.rejects(swapMember(member, id, ending(), settings).next(), /cut/)
  const damaged = file.subarray(0, file.length / 2)
  const swap = async (): Promise<void> => {
    for await (const step of swapMember(member, id, piecesOf(damaged), settings)) t.type(step, 'string')
  }
  await t.rejects(swap(), /is damaged/)
  removeDraft(member)
  t.notOk(existsSync(join(member.path, 'fetched')))
  t.match(restoreCheckpoint(member.path), { ok: true, value: { note: 'cluster 7' } })
  t.equal(await tried(folder), 'opened')
  t.equal(await recordsIn(member), 50)
})
