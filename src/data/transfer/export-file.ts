import { once } from 'node:events'
import { createWriteStream, renameSync, rmSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { systemFaultText } from '../../faults.js'
import { syncFolder } from '../../folder.js'
import type { EntityType, Tenant } from '../../model/context/entity.js'
import { inRange, type PathRange } from '../../model/context/query.js'
import { decided, isUndecided } from '../../model/subscription/decisions.js'
import { CommandFailure } from '../offline/command.js'
import type { StoredFolder } from '../offline/offline-folder.js'
import { endLine, headerLine, lineOf } from './export-lines.js'
import { type Item, type ItemCounts, type ItemKind, noCounts } from './items.js'

/** The number of characters that are written at once. */
const piece_characters = 2 ** 18

/**
 * Writes an export to a file, or to the standard output for `-`; gives the number of items of each kind. A file gets its name
 * when it is complete and durable, so that an earlier export of that name stays until then. A failure leaves no file; so does one
 * of `progressed`, which is called now and then. `interrupted` also ends the wait for a reader of the standard output. The file
 * contains passwords of subscriptions, so only its owner may read it. Throws `CommandFailure`.
 */
export async function writeExport(
  file: string,
  items: AsyncIterable<Item>,
  progressed: (items: number) => void,
  interrupted?: AbortSignal,
): Promise<ItemCounts> {
  if (file === '-') return written(new Output(undefined, interrupted), items, progressed)
  if (statSync(file, { throwIfNoEntry: false })?.isFile() === false) {
    throw new CommandFailure(`${file} is no file: name another one, or - for the standard output`)
  }
  const part = `${file}.part`
  try {
    // One that a killed export has left may be readable by others.
    rmSync(part, { force: true })
    const counts = await written(new Output(part), items, progressed)
    renameSync(part, file)
    syncFolder(dirname(resolve(file)))
    return counts
  } catch (fault) {
    rmSync(part, { force: true })
    throw fault
  }
}

async function written(
  out: Output,
  items: AsyncIterable<Item>,
  progressed: (items: number) => void,
): Promise<ItemCounts> {
  const counts = noCounts()
  let piece = `${headerLine()}\n`
  let written = 0
  for await (const item of items) {
    piece += `${lineOf(item)}\n`
    counts[item.kind] += 1
    written += 1
    if (piece.length < piece_characters) continue
    await out.write(piece)
    piece = ''
    progressed(written)
  }
  await out.write(`${piece}${endLine(counts)}\n`)
  await out.end()
  return counts
}

/** The destination of an export. Its errors are sentences for people. */
class Output {
  readonly #path: string | undefined
  readonly #stream: NodeJS.WritableStream
  readonly #interrupted: AbortSignal | undefined
  #fault: unknown

  /** `interrupted` ends the wait for a reader of the standard output; a file has none. */
  constructor(path: string | undefined, interrupted?: AbortSignal) {
    this.#path = path
    this.#interrupted = interrupted
    this.#stream =
      path === undefined ? process.stdout : createWriteStream(path, { flags: 'wx', mode: 0o600, flush: true })
    this.#stream.on('error', (fault) => {
      this.#fault = fault
    })
  }

  async write(text: string): Promise<void> {
    this.#check()
    if (this.#stream.write(text)) return
    await this.#waitFor((goOn) => {
      this.#stream.on('drain', goOn).on('close', goOn)
      return () => this.#stream.off('drain', goOn).off('close', goOn)
    })
  }

  async end(): Promise<void> {
    if (this.#path === undefined) {
      await this.#waitFor((goOn) => {
        this.#stream.write('', goOn)
        return () => {}
      })
    } else {
      const closed = once(this.#stream, 'close').catch(() => {})
      this.#stream.end()
      await closed
    }
    this.#check()
  }

  /** Waits for a reader that takes nothing, until the export is interrupted. `begin` gives what ends the wait. */
  async #waitFor(begin: (goOn: () => void) => () => void): Promise<void> {
    this.#interrupted?.throwIfAborted()
    await new Promise<void>((resolve) => {
      const goOn = (): void => {
        end()
        this.#interrupted?.removeEventListener('abort', goOn)
        resolve()
      }
      const end = begin(goOn)
      this.#interrupted?.addEventListener('abort', goOn)
    })
    this.#interrupted?.throwIfAborted()
    this.#check()
  }

  #check(): void {
    if (this.#fault === undefined) return
    throw new CommandFailure(
      `${this.#path ?? 'the standard output'} cannot be written: ${systemFaultText(this.#fault)}`,
    )
  }
}

/** The items to export; undefined members select all. */
export interface ExportFilter {
  readonly tenant: Tenant | undefined
  readonly path: PathRange | undefined
  /** Leaves out entities of other types. */
  readonly type: EntityType | undefined
  readonly kinds: ReadonlySet<ItemKind>
}

/** All items of a folder that pass a filter, each kind in the order of creation. */
export async function* storedItems(stored: StoredFolder, filter: ExportFilter): AsyncGenerator<Item> {
  if (filter.kinds.has('entity')) yield* entitiesIn(stored, filter)
  if (filter.kinds.has('subscription')) yield* subscriptionsIn(stored, filter)
  if (filter.kinds.has('registration')) yield* registrationsIn(stored, filter)
  if (filter.kinds.has('availability')) yield* availabilityIn(stored, filter)
}

function* entitiesIn(stored: StoredFolder, { tenant: only, path, type }: ExportFilter): Generator<Item> {
  for (const [tenant, entity] of stored.entities(only)) {
    if (path !== undefined && !inRange(entity.path, path)) continue
    if (type === undefined || entity.type === type) yield { kind: 'entity', tenant, entity }
  }
}

function* subscriptionsIn(stored: StoredFolder, { tenant, path }: ExportFilter): Generator<Item> {
  const all = stored.stats()
  const ticks = stored.metadata.ticks()
  for (const record of stored.metadata.subscriptions()) {
    // An undecided change is withdrawn, as by the next start of a broker.
    const subscription = isUndecided(record) ? decided(record, 'withdrawn') : record
    if (subscription === undefined) continue
    if (tenant !== undefined && subscription.tenant !== tenant) continue
    if (path !== undefined && !inRange(subscription.path.path, path)) continue
    const { id } = subscription
    yield { kind: 'subscription', subscription, stats: all.get(id), ticked: ticks.get(id) }
  }
}

function* registrationsIn(stored: StoredFolder, { tenant, path }: ExportFilter): Generator<Item> {
  for (const registration of [...stored.metadata.registrations()].sort((a, b) => a.order - b.order)) {
    if (tenant !== undefined && registration.tenant !== tenant) continue
    if (path === undefined || inRange(registration.path, path)) yield { kind: 'registration', registration }
  }
}

/** Availability subscriptions mean every path of their tenant. */
function* availabilityIn(stored: StoredFolder, { tenant, path }: ExportFilter): Generator<Item> {
  if (path !== undefined) return
  for (const subscription of [...stored.metadata.availability()].sort((a, b) => a.order - b.order)) {
    if (tenant === undefined || subscription.tenant === tenant) yield { kind: 'availability', subscription }
  }
}
