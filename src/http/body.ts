import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'

/** What the head of a request says about its body. */
export interface AnnouncedBody {
  /** In bytes; nothing when it comes in chunks. */
  readonly length: number | undefined
}

/** The body that the head announces. The parser has refused contradictions [management 11.5]. */
export function announcedBody(headers: IncomingHttpHeaders): AnnouncedBody {
  if (headers['transfer-encoding'] !== undefined) return { length: undefined }
  return { length: Number(headers['content-length'] ?? 0) }
}

/** What is told while a body arrives. */
export interface BodyReader {
  chunk(bytes: number, received: number): void
  /** All of it has come. */
  complete(body: string, bytes: number): void
  /** More than the limit has come; nothing more is kept. */
  tooLong(received: number): void
}

/** Reads a body up to the limit. Nothing is told when the connection goes: whoever owns it knows. */
export function readBody(incoming: IncomingMessage, limit: number, reader: BodyReader): void {
  let chunks: Buffer[] = []
  let received = 0
  incoming.on('data', (chunk: Buffer) => {
    if (received > limit) return
    received += chunk.length
    reader.chunk(chunk.length, received)
    if (received <= limit) chunks.push(chunk)
    else {
      chunks = []
      reader.tooLong(received)
    }
  })
  incoming.on('end', () => {
    if (received <= limit) reader.complete(textOf(chunks), received)
  })
}

function textOf(chunks: readonly Buffer[]): string {
  const [first] = chunks
  if (first === undefined) return ''
  return chunks.length === 1 ? first.toString() : Buffer.concat(chunks).toString()
}
