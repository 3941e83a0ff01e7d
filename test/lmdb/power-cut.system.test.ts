import { type ChildProcess, fork, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type Test, test } from 'tap'
import { restoreCheckpoint } from '../../src/storage/environment/checkpoint.js'
import { damageOf } from '../../src/storage/environment/file-check.js'
import { CutDisk, mayCut, type Shutdown, shutdowns } from './cut-disk.js'
import { type LoadMessage, powerCutProcess } from './power-cut-process.js'

/** `RIGEL_POWER_CUTS=200` makes a long form of it. */
const request = process.env['RIGEL_POWER_CUTS']
const cuts = Number(request ?? 6)

/** On a slow machine the short form is over after this time with fewer cuts. */
const limit_ms = request === undefined ? 40_000 : Number.POSITIVE_INFINITY

/** So many cuts damage an environment that is not restored at least once, as good as certainly. */
const enoughForDamage = 50

const everyPage = 2 ** 40

/** A walk through damaged pages may never end; one through pages that are not may take long on a slow machine. */
const checkLimits_ms = { unrestored: 30_000, restored: 240_000 }

/** What a load has said before its disk was gone. */
interface Load {
  /** Of the last checkpoint that was durable. */
  readonly durable: number
}

/** How a load ends. */
interface End {
  /** The power goes, or only the process is killed. */
  readonly by: Shutdown | 'killed'
  /** So long after the first message of this kind. */
  readonly after: LoadMessage['kind']
  readonly wait_ms: number
}

/** Commits turns and takes checkpoints until the end. */
async function loaded(disk: CutDisk, folder: string, { by, after, wait_ms }: End): Promise<Load> {
  const child: ChildProcess = fork(powerCutProcess, ['load', folder], { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] })
  const exited = once(child, 'exit')
  let output = ''
  child.stderr?.on('data', (text) => {
    output += text
  })
  try {
    let durable = 0
    await new Promise<void>((resolve, failed) => {
      child.on('message', ({ kind, turn }: LoadMessage) => {
        if (kind === 'durable') durable = turn
        if (kind === after) resolve()
      })
      child.on('exit', () => failed(new Error(output)))
    })
    await delay(wait_ms)
    if (by !== 'killed') disk.cut(by)
    child.kill('SIGKILL')
    await exited
    return { durable }
  } finally {
    child.kill('SIGKILL')
  }
}

/** The turn of the contents, as another process sees them; else what is wrong with them. */
function checked(folder: string, state: keyof typeof checkLimits_ms): number | string {
  const damage = damageOf(join(folder, 'data.mdb'), everyPage)
  if (damage) return `damaged: ${damage.what}`
  const args = [powerCutProcess, 'check', folder]
  const { stdout, stderr, signal } = spawnSync(process.execPath, args, {
    encoding: 'utf8',
    timeout: checkLimits_ms[state],
  })
  const turn = /^turn (\d+)$/.exec(stdout)?.[1]
  if (turn !== undefined) return Number(turn)
  return signal ? `ended by ${signal}` : `inconsistent: ${/Error: (.*)/.exec(stderr)?.[1] ?? stderr}`
}

function filledDisk(t: Test): { readonly disk: CutDisk; readonly folder: string } {
  const disk = new CutDisk(t, 1024)
  const folder = join(disk.path, 'environment')
  mkdirSync(folder)
  const { status, stderr } = spawnSync(process.execPath, [powerCutProcess, 'fill', folder], { encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
  return { disk, folder }
}

test(`a checkpoint survives a loss of power under load, ${cuts} times in a row`, mayCut, async (t) => {
  t.setTimeout(300_000 + cuts * 20_000)
  const { disk, folder } = filledDisk(t)
  const kinds = Object.keys(shutdowns) as Shutdown[]
  const unusable: string[] = []
  let last = 0
  let cut = 0
  for (; cut < cuts && (cut === 0 || performance.now() < limit_ms); cut += 1) {
    const shutdown = kinds[cut % kinds.length] ?? 'flushed'
    // What a killed process has written is there for the next one, but not yet on disk.
    const killed: End = { by: 'killed', after: 'loading', wait_ms: Math.random() * 200 }
    const before = cut % 4 === 3 ? await loaded(disk, folder, killed) : { durable: 0 }
    const after = cut % 2 === 0 ? 'durable' : 'loading'
    const { durable } = await loaded(disk, folder, { by: shutdown, after, wait_ms: Math.random() * 500 })
    await disk.unmount()
    disk.mount()
    const unrestored = checked(folder, 'unrestored')
    if (typeof unrestored === 'string') unusable.push(`${shutdown}, ${unrestored}`)

    const restored = restoreCheckpoint(folder)
    if (!restored.ok) throw new Error(restored.error.reason)
    const turn = Number(restored.value?.note)
    const least = Math.max(last, before.durable, durable)
    t.ok(turn >= least, `cut ${cut}, ${shutdown}: turn ${turn} after ${least}, which was durable`)
    if (
      !t.equal(checked(folder, 'restored'), turn, `cut ${cut}, ${shutdown}: the contents are those of the checkpoint`)
    )
      return
    last = turn
  }
  t.comment(`without its checkpoint the environment was unusable after ${unusable.length} of ${cut} cuts`)
  for (const what of unusable) t.comment(what)
  if (cuts >= enoughForDamage) t.ok(unusable.length > 0, 'these cuts can damage an environment')
  t.ok(last > 0, `${last} turns`)
})
