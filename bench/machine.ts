import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs'
import { arch, cpus, loadavg, platform, release, tmpdir, totalmem } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { median } from './rounds.js'
import type { Line } from './table.js'

/** The numbers that statfs(2) has for file systems that are usual on Linux. */
const fileSystems = new Map([
  [0xef53, 'ext4'],
  [0x58465342, 'xfs'],
  [0x9123683e, 'btrfs'],
  [0x2fc12fc1, 'zfs'],
  [0x794c7630, 'overlayfs'],
  [0x01021994, 'tmpfs'],
])

/** What the figures of a run depend on besides the program: the processors and how busy they were, and how fast the disk makes bytes durable. */
export function machineFacts(): Line {
  const [processor] = cpus()
  const type = statfsSync(tmpdir()).type
  const [lastMinute = 0] = loadavg()
  return {
    processor: processor?.model.trim() ?? 'unknown',
    processors: cpus().length,
    memory_GiB: Number((totalmem() / 2 ** 30).toFixed(1)),
    system: `${platform()} ${release()} ${arch()}`,
    load: Number(lastMinute.toFixed(2)),
    fileSystem: fileSystems.get(type) ?? `0x${type.toString(16)}`,
    fdatasync_ms: Number(flush_ms().toFixed(3)),
  }
}

/** The median time of a write of 4 KiB and its fdatasync where data folders are made, in a file that does not grow. */
function flush_ms(): number {
  const folder = mkdtempSync(join(tmpdir(), 'rigel-disk-'))
  const bytes = Buffer.alloc(4096, 1)
  const times: number[] = []
  try {
    const descriptor = openSync(join(folder, 'flush'), 'w')
    try {
      writeSync(descriptor, bytes)
      fdatasyncSync(descriptor)
      for (let round = 0; round < 50; round += 1) {
        const start_ms = performance.now()
        writeSync(descriptor, bytes, 0, bytes.length, 0)
        fdatasyncSync(descriptor)
        times.push(performance.now() - start_ms)
      }
    } finally {
      closeSync(descriptor)
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  return median(times)
}
