/** Headers whose values are secret, in lower case. */
const names: ReadonlySet<string> = new Set([
  'authorization',
  'proxy-authorization',
  'x-auth-token',
  'cookie',
  'set-cookie',
])

/**
 * Whether the value of a header is secret: logs hide it [management 10.5], and it stays with the origin that it was meant for.
 */
export function isSecretHeader(name: string): boolean {
  return names.has(name.toLowerCase())
}
