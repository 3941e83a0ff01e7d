import { EJSON } from 'bson'
import { checked, type Given, type GivenObject, isGivenObject } from '../../../api/ngsi2/parse/tree.js'
import type { Tenant } from '../../../model/context/entity.js'
import type { Milliseconds } from '../../../time.js'
import { headOf, InputFile, linesOf, mayBeParsed } from '../input-file.js'
import { type Item, type ItemKind, type ItemSource, leftOut, type Sourced, wrong } from '../items.js'
import { bsonPieces } from './bson-reader.js'
import {
  type Collection,
  collections,
  type Dump,
  type DumpFile,
  otherCollection,
  otherDatabase,
  tenantOfDatabase,
} from './dump-files.js'
import { missingNames, type OrionRead, readOrionEntity } from './orion-entity.js'
import { readOrionRegistration } from './orion-registration.js'
import { readOrionSubscription } from './orion-subscription.js'

/** The items of a dump of an Orion with this database name. Items without dates get the moment `now`. */
export function orionSource({ files, ignored }: Dump, database: string, now: Milliseconds): ItemSource {
  const inputs = files.map((file) => ({ file, input: new InputFile(file.path) }))
  const total = inputs.reduce((sum, { input }) => sum + (input.progress?.total ?? 0), 0)
  return {
    pieces: readAll(inputs, ignored, { database, now }),
    progress: () => ({ done: inputs.reduce((sum, { input }) => sum + (input.progress?.done ?? 0), 0), total }),
  }
}

interface Reading {
  readonly database: string
  readonly now: Milliseconds
}

async function* readAll(
  inputs: readonly { readonly file: DumpFile; readonly input: InputFile }[],
  ignored: readonly Sourced[],
  reading: Reading,
): AsyncGenerator<readonly Sourced[]> {
  for (const { file, input } of inputs) {
    if (file.of === undefined) yield* readArchive(file.path, input, reading)
    else if (file.form === 'bson') yield* readBson(file.path, file.of, input, reading)
    else yield* readJson(file.path, file.of, input, reading)
  }
  yield ignored
}

/** The collection of a document. */
interface Namespace {
  readonly tenant: Tenant
  readonly collection: Collection
}

async function* readBson(
  path: string,
  namespace: Namespace,
  input: InputFile,
  reading: Reading,
): AsyncGenerator<readonly Sourced[]> {
  let number = 0
  for await (const pieces of bsonPieces(input.bytes())) {
    yield pieces.map((piece) => {
      number += 1
      const where = `${path}, document ${number}`
      if (piece.kind === 'document') return sourced(piece.document, namespace, where, reading)
      return wrong(where, piece.kind === 'damaged' ? piece.reason : 'a document ends too early')
    })
  }
}

/** A file of mongoexport: a document in each line, or with `--jsonArray` an array with a line for each. */
async function* readJson(
  path: string,
  namespace: Namespace,
  input: InputFile,
  reading: Reading,
): AsyncGenerator<readonly Sourced[]> {
  for await (const lines of linesOf(input.bytes())) {
    yield lines.flatMap((line) => {
      const { number, text } = line
      const where = `${path}, line ${number}`
      if (text === undefined) return [wrong(where, line.fault)]
      const json = documentText(text)
      if (json === '') return []
      const document = parsed(json)
      return [
        document === undefined
          ? wrong(where, 'the line is no JSON object')
          : sourced(document, namespace, where, reading),
      ]
    })
  }
}

/** A line without the brackets and commas of an array. */
function documentText(line: string): string {
  const start = /^\s*\[/.exec(line)?.[0].length ?? 0
  let end = line.length
  while (end > start && /[,\]\s]/.test(line.charAt(end - 1))) end -= 1
  return line.slice(start, end)
}

function parsed(json: string): GivenObject | undefined {
  if (!mayBeParsed(json)) return undefined
  try {
    const document: unknown = EJSON.parse(json, { relaxed: true })
    return isGivenObject(document) ? document : undefined
  } catch {
    return undefined
  }
}

/** The first four bytes of an archive of mongodump. */
const archiveMagic = 0x8199e26d
const magic_bytes = 4

/**
 * An archive of mongodump: a magic number, a table of contents, then parts, each of which begins with a document that names its
 * collection. Parts of several collections alternate.
 */
async function* readArchive(path: string, input: InputFile, reading: Reading): AsyncGenerator<readonly Sourced[]> {
  const { head, rest } = await headOf(input.bytes(), magic_bytes)
  if (head.length < magic_bytes || head.readUInt32LE(0) !== archiveMagic) {
    yield [wrong(path, 'it is no archive of mongodump; a file of a collection has to be called .bson or .json')]
    return
  }
  const parts = new ArchiveParts(path, reading)
  for await (const pieces of bsonPieces(rest, magic_bytes)) {
    yield pieces.flatMap((piece) => {
      if (piece.kind === 'damaged') return [wrong(path, piece.reason)]
      return piece.kind === 'terminator' ? parts.ended() : parts.taken(piece.document)
    })
  }
  yield parts.rest()
}

/** The position of the reader in an archive. */
class ArchiveParts {
  readonly #path: string
  readonly #reading: Reading
  /** What is said of parts that are not imported, by their names. */
  readonly #others = new Map<string, Sourced>()
  #state: 'contents' | 'between' | 'inside' = 'contents'
  #namespace: Namespace | undefined
  #part = { db: '', collection: '' }
  #number = 0

  constructor(path: string, reading: Reading) {
    this.#path = path
    this.#reading = reading
  }

  ended(): readonly Sourced[] {
    this.#state = 'between'
    return []
  }

  taken(document: GivenObject): readonly Sourced[] {
    if (this.#state === 'contents') return []
    if (this.#state === 'between') {
      const [db, collection] = [String(document['db']), String(document['collection'])]
      this.#state = 'inside'
      this.#part = { db, collection }
      const known = collections.find((each) => each === collection)
      const tenant = tenantOfDatabase(db, this.#reading.database)
      this.#namespace = known === undefined || tenant === undefined ? undefined : { tenant, collection: known }
      return []
    }
    this.#number += 1
    if (this.#namespace === undefined) {
      this.#noteOther()
      return []
    }
    const { db, collection } = this.#part
    const where = `${this.#path}, document ${this.#number} in ${db}.${collection}`
    return [sourced(document, this.#namespace, where, this.#reading)]
  }

  /** The contents that are not imported. */
  rest(): readonly Sourced[] {
    return [...this.#others.values()]
  }

  #noteOther(): void {
    const { database } = this.#reading
    const { db, collection } = this.#part
    const isOrions = db === database || db.startsWith(`${database}-`)
    const other = isOrions ? otherCollection(this.#path, collection) : otherDatabase(this.#path, db, database)
    if (other !== undefined) this.#others.set(isOrions ? `${db}.${collection}` : db, other)
  }
}

/** What the documents of a collection are. */
const kinds: Readonly<Record<Collection, ItemKind>> = {
  entities: 'entity',
  csubs: 'subscription',
  registrations: 'registration',
}

function sourced(document: GivenObject, { tenant, collection }: Namespace, where: string, { now }: Reading): Sourced {
  const read = checked(() => readDocument(document, collection, tenant, now))
  if (!read.ok) {
    return { ...wrong(`${where}${named(document)}`, read.error.description), of: { kind: kinds[collection], tenant } }
  }
  const { item, losses } = read.value
  return { kind: 'item', item, where, losses }
}

function readDocument(document: Given, collection: Collection, tenant: Tenant, now: Milliseconds): OrionRead<Item> {
  if (collection === 'csubs') return readOrionSubscription(document, tenant, now)
  if (collection === 'registrations') return readOrionRegistration(document, tenant)
  const { item, losses } = readOrionEntity(document, tenant, now)
  const missing = missingNames(document)
  const lost = missing.map((name) => leftOut(`attribute ${name}, which attrNames has and attrs has not`))
  return { item, losses: [...losses, ...lost] }
}

/** The id of a document that is not imported, so that it can be found. */
function named({ _id: id }: GivenObject): string {
  try {
    const text = EJSON.stringify(id, { relaxed: true })
    return text === undefined ? '' : ` (_id ${text.slice(0, 300)})`
  } catch {
    return ''
  }
}
