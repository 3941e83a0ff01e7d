import { chmodSync, existsSync, mkdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { privateMode, syncFolder } from '../../folder.js'
import { checkpointFile } from '../environment/checkpoint-file.js'
import { dataFile, type FolderMember, type MemberSettings, markAnew, unusable } from './member.js'

/** The draft of a member: the file that will replace the member's. */
function draftOf({ name, path }: FolderMember): FolderMember {
  return { name, path: join(path, 'fetched') }
}

/**
 * Puts another file in the place of a member's, whose environment nobody has open and whose last checkpoint was restored. Yields
 * after each step what was done. Stopped after any of them, or within one, by whatever means, the member is what it was or what
 * it is to be. Throws what the file system says, what `pieces` throws, and what is wrong with the file that they are.
 */
export async function* swapMember(
  member: FolderMember,
  folder: string,
  pieces: AsyncIterable<Uint8Array>,
  settings: MemberSettings,
): AsyncGenerator<string, void> {
  const draft = draftOf(member)
  removeDraft(member)
  mkdirSync(draft.path, privateMode)
  await writeAll(dataFile(draft), pieces)
  yield 'all of it is here'
  const reason = unusable(draft, settings)
  if (reason !== undefined) throw new Error(reason)
  await markAnew(draft, folder, settings)
  if (existsSync(dataFile(member))) chmodSync(dataFile(draft), statSync(dataFile(member)).mode & 0o777)
  yield 'it belongs to this folder'
  // The checkpoint belongs to the old file. Old and new file can both be opened without one.
  rmSync(checkpointFile(member.path), { force: true })
  syncFolder(member.path)
  yield 'the checkpoint of the file before is removed'
  renameSync(dataFile(draft), dataFile(member))
  syncFolder(member.path)
  yield 'it is in its place'
  rmSync(join(member.path, 'lock.mdb'), { force: true })
  removeDraft(member)
  yield 'nothing is left over'
}

/** Removes the rest of a swap that was interrupted. */
export function removeDraft(member: FolderMember): void {
  rmSync(draftOf(member).path, { recursive: true, force: true })
}

async function writeAll(file: string, pieces: AsyncIterable<Uint8Array>): Promise<void> {
  const handle = await open(file, 'wx', 0o600)
  try {
    for await (const piece of pieces) await handle.appendFile(piece)
    await handle.sync()
  } finally {
    await handle.close()
  }
}
