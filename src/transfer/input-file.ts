import { closeSync, createReadStream, openSync, readSync, statSync } from 'node:fs'
import { createGunzip } from 'node:zlib'

/** A file, or the standard input, that is read from its beginning to its end; what is compressed by gzip is unpacked. */
export class InputFile {
  readonly #path: string
  #read = 0
  readonly #total: number | undefined

  /** `-` is the standard input. Throws what the system says when there is no such file. */
  constructor(path: string) {
    this.#path = path
    this.#total = path === '-' ? undefined : statSync(path).size
  }

  get progress(): { readonly done: number; readonly total: number } | undefined {
    return this.#total === undefined ? undefined : { done: this.#read, total: this.#total }
  }

  /** What is in it, piece by piece. */
  async *bytes(): AsyncGenerator<Buffer> {
    const raw = this.#path === '-' ? process.stdin : createReadStream(this.#path, { highWaterMark: 2 ** 18 })
    const counted = this.#counted(raw)
    if (this.#path === '-' || !isGzip(this.#path)) {
      yield* counted
      return
    }
    const unpacked = createGunzip({ chunkSize: 2 ** 18 })
    raw.on('data', (piece: Buffer | string) => {
      this.#read += piece.length
    })
    raw.on('error', (fault: Error) => unpacked.destroy(fault))
    for await (const piece of raw.pipe(unpacked)) yield Buffer.from(piece)
  }

  async *#counted(raw: NodeJS.ReadableStream): AsyncGenerator<Buffer> {
    for await (const piece of raw) {
      const bytes = Buffer.from(piece)
      this.#read += bytes.length
      yield bytes
    }
  }
}

function isGzip(path: string): boolean {
  const file = openSync(path, 'r')
  try {
    const head = Buffer.alloc(2)
    return readSync(file, head, 0, 2, 0) === 2 && head[0] === 0x1f && head[1] === 0x8b
  } finally {
    closeSync(file)
  }
}

/** A line is no longer: the entity in it would be larger than any that can be written. */
const maxLine_bytes = 2 ** 26

/** A line of a text. */
export interface TextLine {
  readonly number: number
  /** Without the end of the line; nothing for one that is too long, which is the last one that is given. */
  readonly text: string | undefined
}

/** The lines of a text in UTF-8, as many together as came together. Empty ones are left out. */
export async function* linesOf(pieces: AsyncIterable<Buffer>): AsyncGenerator<readonly TextLine[]> {
  let begun: Buffer[] = []
  let begun_bytes = 0
  let number = 0
  for await (const piece of pieces) {
    const lines: TextLine[] = []
    let from = 0
    for (let end = piece.indexOf(10); end !== -1; end = piece.indexOf(10, from)) {
      number += 1
      const part = piece.subarray(from, end)
      const text = (begun.length === 0 ? part : Buffer.concat([...begun, part])).toString('utf8').trimEnd()
      if (text !== '') lines.push({ number, text })
      begun = []
      begun_bytes = 0
      from = end + 1
    }
    if (from < piece.length) {
      begun.push(piece.subarray(from))
      begun_bytes += piece.length - from
    }
    if (lines.length > 0) yield lines
    if (begun_bytes > maxLine_bytes) {
      yield [{ number: number + 1, text: undefined }]
      return
    }
  }
  const text = Buffer.concat(begun).toString('utf8').trimEnd()
  if (text !== '') yield [{ number: number + 1, text }]
}
