import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

/** What stays free on the disks of played nodes; growth is refused below that, everything below an eighth of it. */
export const keepFree_bytes = 2 ** 40

const rooms = { plenty: 2 * keepFree_bytes, low: keepFree_bytes / 2, none: 0 } as const

/** How much room a disk has: `low` for removals only. */
export type DiskRoomLeft = keyof typeof rooms

/** The disks of nodes: as much room as a play says, and what is written is on them at once. */
export class PlayedDisks {
  readonly #rooms = new Map<string, DiskRoomLeft>()

  /** They take the place of the disks of this thread; what is given has the thread get its own ones again. */
  install(): () => void {
    const { statfsSync, fdatasync, fdatasyncSync, fsyncSync } = fs
    const statfs = (path: string) => ({ bsize: 1, bavail: rooms[this.#roomAt(path)] })
    const flush = (_descriptor: number, done: () => void): void => void setImmediate(done)
    Object.assign(fs, { statfsSync: statfs, fdatasync: flush, fdatasyncSync: () => {}, fsyncSync: () => {} })
    syncBuiltinESMExports()
    return () => {
      Object.assign(fs, { statfsSync, fdatasync, fdatasyncSync, fsyncSync })
      syncBuiltinESMExports()
    }
  }

  /** The disk of a folder has so much room from now on. */
  leave(folder: string, room: DiskRoomLeft): void {
    this.#rooms.set(folder, room)
  }

  #roomAt(path: string): DiskRoomLeft {
    for (const [folder, room] of this.#rooms) if (`${path}/`.startsWith(`${folder}/`)) return room
    return 'plenty'
  }
}
