import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http'

const secretHeaders = new Set(['authorization', 'x-auth-token', 'cookie', 'set-cookie', 'proxy-authorization'])
const secretParameters = /([?&](?:token|access_token|apikey|api_key|password)=)[^&#]*/gi

/** Headers as a log may show them: secrets are replaced by `***` [management 10.5]. */
export function withoutSecrets(headers: IncomingHttpHeaders | OutgoingHttpHeaders): Readonly<Record<string, string>> {
  const shown: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    shown[name] = secretHeaders.has(name.toLowerCase()) ? '***' : String(value)
  }
  return shown
}

/** A URL or request target as a log may show it, without the user and the secret parameters [management 10.5]. */
export function urlWithoutSecrets(url: string): string {
  return url.replace(/\/\/[^/?#]*@/, '//***@').replace(secretParameters, '$1***')
}
