import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import type { Test } from 'tap'
import { mayMountImage } from '../small-disk.js'
import { until } from '../until.js'

/**
 * How a file system is shut down, by the flag of the system call: after all that was written is on disk; after the journal
 * is, but no data; at once.
 */
export const shutdowns = { flushed: 0, journalFlushed: 1, nothingFlushed: 2 } as const

export type Shutdown = keyof typeof shutdowns

/** The same in two languages: the system call has no command. It refuses what does not lie on the given device. */
const programs = [
  [
    'perl',
    '-e',
    `sysopen(my $folder, $ARGV[0], 0) or die $!;
     die 'another device' unless (stat $folder)[0] == (stat $ARGV[1])[6];
     ioctl($folder, 0x8004587d, pack('L', $ARGV[2])) or die $!`,
  ],
  [
    'python3',
    '-c',
    `import fcntl, os, struct, sys
folder = os.open(sys.argv[1], os.O_RDONLY)
assert os.fstat(folder).st_dev == os.stat(sys.argv[2]).st_rdev, 'another device'
fcntl.ioctl(folder, 0x8004587d, struct.pack('I', int(sys.argv[3])))`,
  ],
] as const

const program = programs.find(([language]) => spawnSync(language, ['--version']).status === 0)

/** Whether a file system can be mounted here and lose its power. */
export const mayCut: { readonly skip?: string } =
  program === undefined ? { skip: 'there is neither perl nor python3' } : mayMountImage

/** An ext4 file system in a file, which loses its power as often as asked; it is gone with the test. */
export class CutDisk {
  /** Where it is mounted. */
  readonly path: string
  readonly #image: string
  #device: string | undefined

  /** Makes it, and mounts it. */
  constructor(t: Test, size_MiB: number) {
    const folder = mkdtempSync(join(tmpdir(), 'cut-disk-'))
    this.path = join(folder, 'mounted')
    this.#image = join(folder, 'image')
    const clear = (): void => {
      if (this.#device !== undefined) spawnSync('umount', ['--lazy', this.path])
      this.#device = undefined
      rmSync(folder, { recursive: true, force: true })
    }
    process.once('exit', clear)
    t.teardown(clear)
    mkdirSync(this.path)
    run('truncate', '-s', `${size_MiB}M`, this.#image)
    run('mkfs.ext4', '-q', '-E', 'lazy_itable_init=1,lazy_journal_init=1', this.#image)
    this.mount()
  }

  mount(): void {
    run('mount', '-t', 'ext4', '-o', 'loop', this.#image, this.path)
    this.#device = deviceOf(this.path, this.#image)
  }

  /** Takes the power away: nothing that is not on disk by then will ever be. */
  cut(shutdown: Shutdown): void {
    if (this.#device === undefined || program === undefined) throw new Error('it is not mounted')
    const [language, ...args] = program
    run(language, ...args, this.path, this.#device, `${shutdowns[shutdown]}`)
  }

  /** Only after the processes that use it were killed. */
  async unmount(): Promise<void> {
    await until(() => spawnSync('umount', [this.path]).status === 0, `${this.path} is not busy`)
    this.#device = undefined
  }
}

/** The loop device that is mounted there. Throws when it is not that of the image. */
function deviceOf(path: string, image: string): string {
  const mounts = readFileSync('/proc/self/mounts', 'utf8').split('\n')
  const device = mounts.find((line) => line.split(' ')[1] === path)?.split(' ')[0] ?? ''
  const backing = readFileSync(`/sys/block/${basename(device)}/loop/backing_file`, 'utf8').trim()
  const isOwn = backing === image && statSync(path).dev === statSync(device).rdev
  if (!isOwn) throw new Error(`${path} is not the image that was made for it`)
  return device
}

function run(command: string, ...args: readonly string[]): void {
  const { status, stderr } = spawnSync(command, args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`${command}: ${stderr}`)
}
