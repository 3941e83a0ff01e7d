import type { Encoded } from '../../partition/turn/encoding.js'
import { err, ok, type Result } from '../../result.js'

/** Bytes that are not a batch between nodes. */
export interface MalformedBatch {
  readonly kind: 'malformed'
  readonly what: string
}

const length_bytes = 4

/**
 * Texts as bytes: the number of bodies, the length of the text and those of the bodies in UTF-8, 4 bytes each, big-endian; then
 * the text and the bodies one after the other.
 */
export function frameOf({ text, bodies }: Encoded): Buffer {
  const lengths = [Buffer.byteLength(text), ...bodies.map((body) => Buffer.byteLength(body))]
  const head_bytes = length_bytes * (1 + lengths.length)
  const frame = Buffer.allocUnsafe(lengths.reduce((sum, length) => sum + length, head_bytes))
  let at = frame.writeUInt32BE(bodies.length)
  for (const length of lengths) at = frame.writeUInt32BE(length, at)
  at += frame.write(text, at)
  for (const body of bodies) at += frame.write(body, at)
  return frame
}

/** Parses the texts of a frame. Whatever lengths the bytes name, nothing longer than the bytes themselves is allocated. */
export function parseFrame(bytes: Buffer): Result<Encoded, MalformedBatch> {
  if (bytes.length < 2 * length_bytes) return malformed('its head is not complete')
  const count = bytes.readUInt32BE(0)
  const head_bytes = length_bytes * (2 + count)
  if (head_bytes > bytes.length) return malformed(`it is too short for ${count} bodies`)
  const texts: string[] = []
  let from = head_bytes
  for (let at = length_bytes; at < head_bytes; at += length_bytes) {
    const to = from + bytes.readUInt32BE(at)
    if (to > bytes.length) return malformed('it ends within a text')
    texts.push(bytes.toString('utf8', from, to))
    from = to
  }
  if (from < bytes.length) return malformed('there are bytes behind its last text')
  const [text = '', ...bodies] = texts
  return ok({ text, bodies })
}

export function malformed(what: string): Result<never, MalformedBatch> {
  return err({ kind: 'malformed', what })
}
