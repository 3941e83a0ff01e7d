import { spawnSync } from 'node:child_process'
import { appendFileSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { RunningBroker } from './running.js'

/** A file system of its own, as small as asked for; what is on it is gone with the test. */
export interface SmallDisk {
  readonly path: string
  /** Starts a broker on it, which is killed before the file system goes. */
  broker(flags?: readonly string[]): Promise<RunningBroker>
  /** Takes away some of the room. */
  take(size_MiB: number): void
  /** Takes away all of the room but so much. */
  leave(left_bytes: number): void
  /** Gives that room back. */
  clear(): void
}

/** Whether this user may mount file systems. */
export const mayMount: { readonly skip?: string } =
  spawnSync('unshare', ['--mount', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).status === 0
    ? {}
    : { skip: 'this user can not mount a small file system' }

/** Whether this user may mount a file system that lies in a file. */
export const mayMountImage: { readonly skip?: string } =
  mayMount.skip === undefined &&
  spawnSync('losetup', ['--find']).status === 0 &&
  spawnSync('mkfs.ext4', ['-V']).status === 0
    ? {}
    : { skip: 'this user can not mount a file system from a file' }

/** A file system in memory. */
export function smallDisk(t: Test, size_MiB: number): SmallDisk {
  const path = mkdtempSync(join(tmpdir(), 'small-disk-'))
  run('mount', '-t', 'tmpfs', '-o', `size=${size_MiB}m`, 'tmpfs', path)
  return mounted(t, [path])
}

/** A file system that believes to be larger than the memory that its blocks lie in: beyond that it fails. */
export function failingDisk(t: Test, size_MiB: number, believed_MiB: number): SmallDisk {
  const [below, path] = [mkdtempSync(join(tmpdir(), 'small-disk-')), mkdtempSync(join(tmpdir(), 'small-disk-'))]
  const image = join(below, 'image')
  run('mount', '-t', 'tmpfs', '-o', `size=${size_MiB}m`, 'tmpfs', below)
  run('truncate', '-s', `${believed_MiB}M`, image)
  run('mkfs.ext4', '-q', '-E', 'lazy_itable_init=1,lazy_journal_init=1', image)
  run('mount', '-o', 'loop', image, path)
  return mounted(t, [path, below])
}

function mounted(t: Test, paths: readonly [string, ...string[]]): SmallDisk {
  const [path] = paths
  const brokers: RunningBroker[] = []
  t.teardown(async () => {
    await Promise.all(brokers.map((broker) => broker.end('SIGKILL')))
    for (const each of paths) {
      spawnSync('umount', ['--lazy', each])
      rmSync(each, { recursive: true, force: true })
    }
  })
  const ballast = join(path, 'ballast')
  return {
    path,
    broker: async (flags = []) => {
      const broker = await RunningBroker.startIn(join(path, 'data'), flags)
      brokers.push(broker)
      return broker
    },
    take: (size_MiB) => writeFileSync(ballast, Buffer.alloc(size_MiB * 2 ** 20)),
    leave: (left_bytes) => {
      const tooMuch = (): number => {
        const { bavail, bsize } = statfsSync(path)
        return bavail * bsize - left_bytes
      }
      for (let size = tooMuch(); size > 0; size = tooMuch()) {
        try {
          appendFileSync(ballast, Buffer.alloc(size))
        } catch (fault) {
          // A broker on it has taken some of the room meanwhile.
          if (!isNoRoom(fault)) throw fault
        }
      }
    },
    clear: () => rmSync(ballast, { force: true }),
  }
}

function isNoRoom(fault: unknown): boolean {
  return fault instanceof Error && 'code' in fault && fault.code === 'ENOSPC'
}

function run(command: string, ...args: readonly string[]): void {
  const { status, stderr } = spawnSync(command, args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
}
