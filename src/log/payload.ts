/** A payload as a line of the log shows it: on one line, cut at a number of bytes [management 10.4]. */
export function payloadShown(body: string, limit_bytes: number): string {
  const line = body.slice(0, limit_bytes + 1).replace(/\s*[\r\n]+\s*/g, ' ')
  const bytes = Buffer.from(line)
  return bytes.length > limit_bytes ? `${bytes.subarray(0, limit_bytes).toString()}(...)` : line
}
