import { constants, existsSync, mkdirSync, readdirSync, renameSync, rmSync, statfsSync, statSync } from 'node:fs'
import { copyFile } from 'node:fs/promises'
import { join } from 'node:path'
import { privateMode, syncFolder } from '../folder.js'
import { err, ok, type Result } from '../result.js'
import type { FolderRefusal } from './folder-claim.js'
import { readFormat } from './folder-format.js'
import { hasPrevious, membersIn, previousDraft, previousFolder, syncTree } from './folder-swap.js'

/**
 * Copies all members of a folder whose format is about to change to `previous`, so that there is a way back to the program
 * that wrote them; where the file system can, the copies share their blocks. Earlier copies of an older format give way.
 * Refuses when the disk has no room, and when members would be lost that a restore or a reshard has replaced.
 */
export async function keepPrevious(path: string, version: number): Promise<Result<void, FolderRefusal>> {
  const previous = previousFolder(path)
  const held = readFormat(previous)
  if (hasPrevious(path) && !(typeof held === 'object' && held.version < version)) {
    return err({
      reason: `${previous} holds members that were replaced before, where copies of the present ones are to be kept: remove them with \`rigel restore --forget-previous\``,
    })
  }
  const draft = previousDraft(path)
  rmSync(draft, { recursive: true, force: true })
  mkdirSync(draft, privateMode)
  const files = membersIn(path).flatMap((name) => filesOf(path, name))
  const short = (await sharesBlocks(path, draft)) ? undefined : missingRoom(path, files)
  if (short !== undefined) {
    rmSync(draft, { recursive: true })
    return err({ reason: short })
  }
  try {
    for (const file of files) {
      mkdirSync(join(draft, file, '..'), { recursive: true })
      await copyFile(join(path, file), join(draft, file), constants.COPYFILE_FICLONE)
    }
    syncTree(draft)
  } catch (fault) {
    // The room that it takes may be what others need.
    rmSync(draft, { recursive: true })
    throw fault
  }
  rmSync(previous, { recursive: true, force: true })
  renameSync(draft, previous)
  syncFolder(path)
  return ok(undefined)
}

/** Removes what a swap or a migration has replaced; says whether there was anything. */
export function forgetPrevious(path: string): boolean {
  const previous = previousFolder(path)
  if (!existsSync(previous)) return false
  // Without its format it is no folder that could be put back: a removal that is killed leaves nothing half.
  rmSync(join(previous, 'format.json'), { force: true })
  syncFolder(previous)
  rmSync(previous, { recursive: true })
  syncFolder(path)
  return true
}

/** Why a copy of so many bytes has no place on the disk of a folder, for the operator; nothing when it has. */
export function noRoomFor(path: string, bytes: number, what: string): string | undefined {
  const { bavail, bsize } = statfsSync(path)
  const free = bavail * bsize
  if (free > bytes) return undefined
  const missing = `${inMiB(bytes - free)} MiB are missing`
  return `${what} needs ${inMiB(bytes)} MiB on the disk of ${path}, which has ${inMiB(free)} MiB free: ${missing}, make room and try again`
}

function missingRoom(path: string, files: readonly string[]): string | undefined {
  const bytes = files.reduce((sum, file) => sum + statSync(join(path, file)).size, 0)
  return noRoomFor(path, bytes, 'a copy of the data, as the way back from a new format,')
}

/** The files of a member, or the file itself, as paths below the folder; what LMDB makes anew is none of them. */
function filesOf(path: string, name: string): readonly string[] {
  if (!statSync(join(path, name)).isDirectory()) return [name]
  return readdirSync(join(path, name)).flatMap((inner) =>
    inner === 'lock.mdb' ? [] : filesOf(path, join(name, inner)),
  )
}

/** Whether copies cost no room on this file system. */
async function sharesBlocks(path: string, draft: string): Promise<boolean> {
  const probe = join(draft, 'lock')
  try {
    await copyFile(join(path, 'format.json'), probe, constants.COPYFILE_FICLONE_FORCE)
    return true
  } catch {
    return false
  } finally {
    rmSync(probe, { force: true })
  }
}

function inMiB(bytes: number): number {
  return Math.ceil(bytes / 2 ** 20)
}
