import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { err, ok, type Result } from '../../src/result.js'

/** Short, so that a process which has used its share waits for milliseconds only. */
const period_us = 10_000

/** The kernel takes no smaller quota. */
const least_us = 1_000

/** A group is empty some milliseconds after its processes were killed. */
const tries = 200

/** Where groups of processes are made, by the version of cgroups. */
interface Hierarchy {
  readonly version: 1 | 2
  readonly root: string
}

let groups = 0

/** Holds processes to shares of a processor with cgroups, one group for each process, made below the root of the hierarchy. */
export class ProcessorShares {
  readonly share: number
  readonly #hierarchy: Hierarchy
  readonly #made = new Set<string>()
  readonly #atExit = () => this.remove()

  private constructor(share: number, hierarchy: Hierarchy) {
    this.share = share
    this.#hierarchy = hierarchy
  }

  /** Shares of this many processors for each process. Refuses with a text where this machine does not let us make groups. */
  static of(share: number): Result<ProcessorShares, string> {
    if (share * period_us < least_us) return err(`the least share of a processor is ${least_us / period_us}`)
    const hierarchy = hierarchyIn(readMounts())
    if (!hierarchy.ok) return hierarchy
    const shares = new ProcessorShares(share, hierarchy.value)
    try {
      shares.#make()
      shares.remove()
      return ok(shares)
    } catch (fault) {
      shares.remove()
      return err(`a group below ${hierarchy.value.root} cannot be made: ${String(fault)}`)
    }
  }

  /** Holds a process to the share from now on, with all its threads. */
  hold(pid: number): void {
    writeFileSync(join(this.#make(), 'cgroup.procs'), String(pid))
  }

  /** Removes the groups, whose processes have ended or are about to. */
  remove(): void {
    for (const group of this.#made) removeWhenEmpty(group)
    this.#made.clear()
    process.off('exit', this.#atExit)
  }

  #make(): string {
    groups += 1
    const group = join(this.#hierarchy.root, `rigel-bench-${process.pid}-${groups}`)
    const quota_us = Math.round(this.share * period_us)
    mkdirSync(group)
    if (this.#made.size === 0) process.on('exit', this.#atExit)
    this.#made.add(group)
    if (this.#hierarchy.version === 2) {
      writeFileSync(join(group, 'cpu.max'), `${quota_us} ${period_us}`)
    } else {
      writeFileSync(join(group, 'cpu.cfs_period_us'), String(period_us))
      writeFileSync(join(group, 'cpu.cfs_quota_us'), String(quota_us))
    }
    return group
  }
}

function readMounts(): string {
  return existsSync('/proc/self/mounts') ? readFileSync('/proc/self/mounts', 'utf8') : ''
}

/** Where a quota of processor time can be set, by the text of `/proc/self/mounts`. */
function hierarchyIn(mounts: string): Result<Hierarchy, string> {
  const mounted = mounts.split('\n').map((line) => {
    const [, root = '', type = '', options = ''] = line.split(' ')
    return { root, type, options: options.split(',') }
  })
  const first = mounted.find(({ type, options }) => type === 'cgroup' && options.includes('cpu'))
  if (first !== undefined) return ok({ version: 1, root: first.root })
  const second = mounted.find(({ type }) => type === 'cgroup2')
  if (second === undefined) return err('no cgroups are mounted')
  const controllers = join(second.root, 'cgroup.subtree_control')
  const controlled = existsSync(controllers) ? readFileSync(controllers, 'utf8').trim().split(' ') : []
  if (controlled.includes('cpu')) return ok({ version: 2, root: second.root })
  return err(`${controllers} does not have the controller cpu`)
}

/** Waits in this thread: it may run while the process ends. A group that still has processes stays, which is no fault. */
function removeWhenEmpty(group: string): void {
  const wait = new Int32Array(new SharedArrayBuffer(4))
  for (let tried = 1; existsSync(group); tried += 1) {
    try {
      rmdirSync(group)
    } catch (fault) {
      if (tried === tries) {
        console.error(`${group} stays: ${String(fault)}`)
        return
      }
      Atomics.wait(wait, 0, 0, 10)
    }
  }
}
