/** A payload as a log shows it: on one line, cut at the limit of payloads in the log [management 10.4]. */
export function shownPayload(body: string, limit_bytes: number): string {
  const line = body.slice(0, limit_bytes + 1).replace(/\s*[\r\n]+\s*/g, ' ')
  const bytes = Buffer.from(line)
  return bytes.length > limit_bytes ? `${bytes.subarray(0, limit_bytes).toString()}(...)` : line
}
