/** What a notification says of its sender and what it takes back, which a stream does not; and the fields that mean something in one. */
const leftOut: ReadonlySet<string> = new Set(['user-agent', 'accept', 'id', 'event', 'data', 'retry'])

/**
 * A notification as an event: its headers are fields, which readers of event streams skip unless they look for them, and its body
 * is the data. The headers are names and values in turn.
 */
export function noticeEvent(id: string, headers: readonly string[], body: string): string {
  let text = `id: ${id}\n`
  for (let at = 0; at < headers.length; at += 2) {
    const name = headers[at] ?? ''
    if (!leftOut.has(name.toLowerCase())) text += `${name}: ${headers[at + 1] ?? ''}\n`
  }
  return `${text}${dataFields(body)}\n`
}

function dataFields(body: string): string {
  if (!/[\r\n]/.test(body)) return `data: ${body}\n`
  return body
    .split(/\r\n|\r|\n/)
    .map((line) => `data: ${line}\n`)
    .join('')
}
