import { startWithoutSecrets, textWithoutSecrets } from './secrets.js'

/** How far beyond the limit secrets are looked for that begin before it. */
const lookahead = 2048

/** A payload as a line of the log shows it: without secrets, on one line, cut at a number of bytes [management 10.4, 10.5]. */
export function payloadShown(body: string, limit_bytes: number): string {
  const most = limit_bytes + 1 + lookahead
  const shown = body.length > most ? startWithoutSecrets(body.slice(0, most)) : textWithoutSecrets(body)
  const line = shown.slice(0, limit_bytes + 1).replace(/\s*[\r\n]+\s*/g, ' ')
  const bytes = Buffer.from(line)
  return bytes.length > limit_bytes ? `${bytes.subarray(0, limit_bytes).toString()}(...)` : line
}
