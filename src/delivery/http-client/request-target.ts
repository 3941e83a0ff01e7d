/** What stands before the target: the scheme, slashes, user and host. A URL ends its host at each of these characters. */
const beforeTarget = /^[^:]*:[/\\\t\n\r]*[^/\\?#]*/

/** What cannot stand in a request line: spaces, control characters, and all beyond ASCII. */
const notInLine = /[^!-~]+/g

/**
 * The target of a request to a URL of HTTP, as the request line has it: what is written behind the host, where the class `URL` would
 * write it anew (`/a/../b`, `{"a":1}`, what is behind a `#`). Only what cannot stand in a request line is percent-encoded, as UTF-8
 * [NGSIv2 subscriptions 6.1, 6.2].
 */
export function requestTarget(url: string): string {
  const written = url.toWellFormed().replace(beforeTarget, '').replace(notInLine, encodeURIComponent)
  return written.startsWith('/') ? written : `/${written}`
}
