import { existsSync, lstatSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { pathExists, privateMode, replaceFile, syncFolder } from '../../folder.js'
import { err, ok, type Result } from '../../result.js'
import { readOwnText } from '../../text-file.js'
import { formatFile, readFormat } from './folder-format.js'

/**
 * The members of a data folder are replaced by others all at once: built beside them, decided by a durable note, then
 * moved. A process that is killed anywhere leaves the old folder before the note, and after it one that whoever opens it
 * next makes the new one. The folder itself is never renamed: it may be a mount point.
 */

/** The folder of the members that replace the present ones: `next` has new ones, `previous` those of before. */
export type SwapSource = 'next' | 'previous'

/** Members that leave and enter, in the order in which they are moved. Part of the format on disk. */
interface SwapNote {
  readonly source: SwapSource
  readonly leaving: readonly string[]
  readonly entering: readonly string[]
  /** Whether all members are in place, so that only leftovers have to be removed. */
  readonly moved: boolean
}

/** The folder in which new members are built: a data folder inside the one that they are for. */
function nextFolder(path: string): string {
  return join(path, 'next')
}

/** The folder of the members that a swap has replaced: a data folder of its own. */
export function previousFolder(path: string): string {
  return join(path, 'previous')
}

/** The folder in which the members that become the previous ones are gathered. */
function previousDraft(path: string): string {
  return join(path, 'previous.new')
}

/** Whether previous members exist. */
export function hasPrevious(path: string): boolean {
  return pathExists(formatFile(previousFolder(path))) || membersIn(previousFolder(path)).length > 0
}

/** The names of a data folder's members and format files. */
export function membersIn(path: string): readonly string[] {
  if (!pathExists(path)) return []
  return readdirSync(path).filter((name) => memberName.test(name))
}

const memberName = /^(partition-\d+|control|format\.json|format\.[a-z]+\.json)$/

/** Creates an empty folder for new members. The caller has locked the data folder, and no swap is decided. */
export function beginNext(path: string): string {
  const next = nextFolder(path)
  rmSync(next, { recursive: true, force: true })
  mkdirSync(next, privateMode)
  return next
}

/**
 * Decides that the members in `next`, or those of before, take the place of the present ones, which become the previous
 * ones. What was built is made durable first. Refuses when it is no whole data folder, when it lies on another
 * file system, and when previous members would be lost. `finishSwap` carries it out.
 */
export function decideSwap(path: string, source: SwapSource): Result<void, { readonly reason: string }> {
  const from = join(path, source)
  const format = readFormat(from)
  if (!format.ok) {
    const { error } = format
    return err(
      error === 'missing' ? { reason: `${formatFile(from)} is missing: there is nothing to put in place` } : error,
    )
  }
  if (source === 'next' && hasPrevious(path)) return err({ reason: `${previousFolder(path)} ${previousInTheWay}` })
  const leaving = [...membersIn(path)].sort(formatsFirst)
  const entering = [...membersIn(from)].sort(formatsFirst).reverse()
  const fixed = fixedMember(path, path) ?? fixedMember(path, from)
  if (fixed !== undefined) return err({ reason: fixed })
  syncTree(from)
  writeNote(path, { source, leaving, entering, moved: false })
  return ok(undefined)
}

/** Why the members of a folder cannot be moved within `path`, as a text for the operator; nothing when they can. */
export function fixedMember(path: string, from: string): string | undefined {
  const fixed = membersIn(from)
    .map((name) => join(from, name))
    .find((file) => lstatSync(file).isSymbolicLink() || statSync(file).dev !== statSync(path).dev)
  return fixed && `${fixed} is a link or on another file system, and cannot be moved: put all of ${path} on one`
}

/** What an operator can do about previous members that would be lost. */
const previousInTheWay =
  'holds what was replaced before: `rigel restore --forget-previous` removes it, `rigel restore --previous` puts it back'

/**
 * Goes on with a swap that was decided, step by step; removes what was built for one that was not. Yields after each step
 * what was done; stopped after any of them, it can be begun again. The caller has the lock of the folder.
 */
export function* finishSwap(path: string): Generator<string, void> {
  const note = readNote(path)
  if (note === undefined) {
    yield* removeUndecided(path)
    return
  }
  if (!note.moved) {
    yield* move(path, note)
    writeNote(path, { ...note, moved: true })
    yield 'all members are in their places'
  }
  yield* removeLeftOver(path)
  rmSync(noteFile(path))
  syncFolder(path)
  yield 'the swap is over'
}

/**
 * Moves the members. The format file leaves first and enters last, so that no version of the program takes the folder for complete in
 * between.
 */
function* move(path: string, { source, leaving, entering }: SwapNote): Generator<string, void> {
  const draft = previousDraft(path)
  const from = join(path, source)
  if (leaving.length > 0 && !pathExists(draft)) mkdirSync(draft, privateMode)
  for (const name of leaving) {
    // A member that is there already has left, and the file of its name has entered.
    if (pathExists(join(draft, name))) continue
    renameSync(join(path, name), join(draft, name))
    yield `${name} has left`
  }
  if (leaving.length > 0) syncFolder(draft)
  syncFolder(path)
  for (const name of entering) {
    if (!pathExists(join(from, name))) continue
    if (name === 'format.json') syncFolder(path)
    renameSync(join(from, name), join(path, name))
    yield `${name} has entered`
  }
  syncFolder(from)
  syncFolder(path)
}

function* removeLeftOver(path: string): Generator<string, void> {
  rmSync(nextFolder(path), { recursive: true, force: true })
  yield 'the place of new members is removed'
  const draft = previousDraft(path)
  if (pathExists(draft)) {
    rmSync(previousFolder(path), { recursive: true, force: true })
    yield 'earlier previous members are removed'
    renameSync(draft, previousFolder(path))
    syncFolder(path)
    yield 'the replaced members are the previous ones'
  } else if (!hasPrevious(path)) rmSync(previousFolder(path), { recursive: true, force: true })
}

/** Removes what an undecided swap has built; folders of others stay, whatever their names. */
function* removeUndecided(path: string): Generator<string, void> {
  for (const folder of [nextFolder(path), previousDraft(path)]) {
    if (!pathExists(folder) || !readdirSync(folder).every(isBuilt)) continue
    rmSync(folder, { recursive: true })
    yield `${folder}, which was not finished, is removed`
  }
}

function isBuilt(name: string): boolean {
  return /^(partition-\d+|control|lock|format\.[a-z.]+|manifest\.json)$/.test(name)
}

function formatsFirst(a: string, b: string): number {
  const rank = (name: string): number => (name === 'format.json' ? 0 : name.startsWith('format.') ? 1 : 2)
  return rank(a) - rank(b) || a.localeCompare(b)
}

/** Makes everything in a folder durable. */
export function syncTree(path: string): void {
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    const file = join(path, entry.name)
    if (entry.isDirectory()) syncTree(file)
    else if (entry.isFile()) syncFolder(file)
  }
  syncFolder(path)
}

/** Removes the previous members; returns whether there were any. */
export function forgetPrevious(path: string): boolean {
  const previous = previousFolder(path)
  if (!pathExists(previous)) return false
  // Without its format file it cannot be put back, so an interrupted removal leaves nothing that looks complete.
  rmSync(join(previous, 'format.json'), { force: true })
  syncFolder(previous)
  rmSync(previous, { recursive: true })
  syncFolder(path)
  return true
}

/** Whether a swap was decided, and is not over yet, as far as that can be seen: why one cannot look, the lock of the folder says. */
export function isDecided(path: string): boolean {
  return existsSync(noteFile(path))
}

function noteFile(path: string): string {
  return join(path, 'swap.json')
}

function writeNote(path: string, note: SwapNote): void {
  replaceFile(noteFile(path), `${JSON.stringify(note)}\n`)
}

/** What helps without the note of a swap, since only the note tells which members are which. */
const noteWayOut = 'restore the folder from a backup'

/** Reads the note of a swap; throws when it is malformed. */
function readNote(path: string): SwapNote | undefined {
  const file = noteFile(path)
  if (!pathExists(file)) return undefined
  const note = parsedNote(readOwnText(file, noteWayOut))
  if (note === undefined) throw new Error(`${file} is damaged: ${noteWayOut}`)
  return note
}

function parsedNote(text: string): SwapNote | undefined {
  let raw: unknown
  try {
    raw = JSON.parse(text)
  } catch {
    return undefined // No JSON: the caller reports it like other damage.
  }
  if (typeof raw === 'object' && raw !== null && 'source' in raw && 'leaving' in raw && 'entering' in raw) {
    const { source, leaving, entering } = raw
    if ((source === 'next' || source === 'previous') && areNames(leaving) && areNames(entering)) {
      return { source, leaving, entering, moved: 'moved' in raw && raw.moved === true }
    }
  }
  return undefined
}

function areNames(raw: unknown): raw is readonly string[] {
  return Array.isArray(raw) && raw.every((name) => typeof name === 'string' && memberName.test(name))
}
