import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import type { Test } from 'tap'

/** All disks have so many bytes left, whatever is written, until the test ends. */
export function diskOf(t: Pick<Test, 'teardown'>): { left_bytes: number } {
  const disk = { left_bytes: 2 ** 40 }
  const { statfsSync } = fs
  t.teardown(() => {
    Object.assign(fs, { statfsSync })
    syncBuiltinESMExports()
  })
  Object.assign(fs, { statfsSync: () => ({ bsize: 1, bavail: disk.left_bytes }) })
  syncBuiltinESMExports()
  return disk
}
