const secretHeaders = new Set(['authorization', 'proxy-authorization', 'x-auth-token', 'cookie', 'set-cookie'])
const secretParameters = new Set(['token', 'access_token', 'apikey', 'api_key', 'password'])

/** What stands in a log for what is secret [management 10.5]. */
export const hidden = '***'

/** Headers as a log may show them: the values of those that carry secrets are hidden [management 10.5]. */
export function withoutSecrets(
  headers: Readonly<Record<string, string | number | readonly string[] | undefined>>,
): Readonly<Record<string, string>> {
  const shown = Object.entries(headers).filter(([, value]) => value !== undefined)
  return Object.fromEntries(
    shown.map(([name, value]) => [name, secretHeaders.has(name.toLowerCase()) ? hidden : String(value)]),
  )
}

/** A URL or request target as a log may show it: without the part before `@` and the secret parameters [management 10.5]. */
export function urlWithoutSecrets(url: string): string {
  const anonymous = url.replace(/^([a-z][a-z0-9+.-]*:)?\/\/[^/?#]*@/i, `$1//${hidden}@`)
  return anonymous.replace(/([?&;])([^=&;#?]*)=[^&;#]*/g, (pair: string, separator: string, name: string) =>
    secretParameters.has(decoded(name).toLowerCase()) ? `${separator}${name}=${hidden}` : pair,
  )
}

/** A name that is written with escapes means the same parameter. */
function decoded(name: string): string {
  try {
    return decodeURIComponent(name)
  } catch {
    return name
  }
}
