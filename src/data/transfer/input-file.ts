import { createReadStream, statSync } from 'node:fs'
import { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { findJsonFault } from '../../json-reader.js'

/** A file, or the standard input, that is read from beginning to end; gzip is unpacked. */
export class InputFile {
  readonly #path: string
  #read = 0
  readonly #total: number | undefined

  /** `-` is the standard input. Throws the system's error when there is no such file. */
  constructor(path: string) {
    this.#path = path
    const stats = path === '-' ? undefined : statSync(path)
    // A pipe has no end that could be looked at before it is read.
    this.#total = stats?.isFile() ? stats.size : undefined
  }

  /** Whether its contents cannot be read again. */
  get isReadOnce(): boolean {
    return this.#total === undefined
  }

  /** The same file, to be read from its beginning. */
  again(): InputFile {
    return new InputFile(this.#path)
  }

  get progress(): { readonly done: number; readonly total: number } | undefined {
    return this.#total === undefined ? undefined : { done: this.#read, total: this.#total }
  }

  /** The contents, piece by piece. Throws errors of the system, and of unpacking a damaged file. */
  async *bytes(): AsyncGenerator<Buffer> {
    const raw = this.#path === '-' ? process.stdin : createReadStream(this.#path, { highWaterMark: 2 ** 18 })
    const { head, rest } = await headOf(this.#counted(raw), gzipMagic.length)
    if (!head.subarray(0, gzipMagic.length).equals(gzipMagic)) {
      yield* rest
      return
    }
    const packed = Readable.from(rest)
    const unpacked = createGunzip({ chunkSize: 2 ** 18 })
    packed.on('error', (fault: Error) => unpacked.destroy(fault))
    for await (const piece of packed.pipe(unpacked)) yield Buffer.from(piece)
  }

  async *#counted(raw: NodeJS.ReadableStream): AsyncGenerator<Buffer> {
    for await (const piece of raw) {
      const bytes = Buffer.from(piece)
      this.#read += bytes.length
      yield bytes
    }
  }
}

/** The first bytes of a gzip file. */
const gzipMagic = Buffer.from([0x1f, 0x8b])

/** The first pieces of a stream, with enough bytes to recognise its format, and the whole stream again. */
export async function headOf(
  pieces: AsyncGenerator<Buffer>,
  bytes: number,
): Promise<{ readonly head: Buffer; readonly rest: AsyncGenerator<Buffer> }> {
  let head: Buffer = Buffer.alloc(0)
  while (head.length < bytes) {
    const next = await pieces.next()
    if (next.done) break
    head = Buffer.concat([head, next.value])
  }
  async function* all(): AsyncGenerator<Buffer> {
    yield head
    yield* pieces
  }
  return { head, rest: all() }
}

/** The longest line: a longer one would hold an entity larger than any that can be written. */
const maxLine_bytes = 2 ** 26

/** Nobody writes more of them, and a small compressed file may hold more than anybody wants to wait for. */
const maxEmptyLines = 1_000_000

/** A line without its end; or why the file is not read any further, behind which nothing is given. */
export type TextLine =
  | { readonly number: number; readonly text: string }
  | { readonly number: number; readonly text: undefined; readonly fault: string }

/** The nesting of longer lines is checked first: millions of levels would take gigabytes to parse. */
const shortLine = 2 ** 20

/** Whether a line can be parsed in bounded memory. */
export function mayBeParsed(text: string): boolean {
  return text.length <= shortLine || findJsonFault(text) === undefined
}

/** The lines of a text in UTF-8, in groups as they arrive. Empty lines are left out. */
export async function* linesOf(pieces: AsyncIterable<Buffer>): AsyncGenerator<readonly TextLine[]> {
  let begun: Buffer[] = []
  let begun_bytes = 0
  let [number, empty] = [0, 0]
  for await (const piece of pieces) {
    const lines: TextLine[] = []
    let from = 0
    for (let end = piece.indexOf(10); end !== -1; end = piece.indexOf(10, from)) {
      number += 1
      if (end === from && begun.length === 0) {
        empty += 1
        from = end + 1
        continue
      }
      const part = piece.subarray(from, end)
      const text = (begun.length === 0 ? part : Buffer.concat([...begun, part])).toString('utf8').trimEnd()
      if (text === '') empty += 1
      else lines.push({ number, text })
      begun = []
      begun_bytes = 0
      from = end + 1
    }
    if (from < piece.length) {
      begun.push(piece.subarray(from))
      begun_bytes += piece.length - from
    }
    if (lines.length > 0) yield lines
    const fault = begun_bytes > maxLine_bytes ? 'the line is longer than 64 MiB' : tooManyEmpty(empty)
    if (fault !== undefined) {
      yield [{ number: number + 1, text: undefined, fault }]
      return
    }
  }
  const text = Buffer.concat(begun).toString('utf8').trimEnd()
  if (text !== '') yield [{ number: number + 1, text }]
}

function tooManyEmpty(lines: number): string | undefined {
  return lines > maxEmptyLines ? `more than ${maxEmptyLines} lines before it are empty` : undefined
}
