/** The parts of a URL that a notification or a forwarded request can go to [NGSIv2 subscriptions 1.3]. */
export interface TargetUrl {
  readonly scheme: 'http' | 'https' | 'mqtt' | 'kafka'
  /** Without port. */
  readonly host: string
  readonly port: number | undefined
  /** From the slash on; the empty text without one. */
  readonly path: string
}

const form = /^(https?|mqtt|kafka):\/\/(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+)(?::(\d{1,5}))?(\/.*)?$/
const label = /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/
const maxName_characters = 253

/** Reads a URL; nothing for one that is malformed [NGSIv2 subscriptions 1.3]. */
export function parseTargetUrl(text: string): TargetUrl | undefined {
  const [, scheme, host = '', portText, path = ''] = form.exec(text) ?? []
  if (!isScheme(scheme) || !isHost(host)) return undefined
  const port = portText === undefined ? undefined : Number(portText)
  if (port !== undefined && (port < 1 || port > 65_535)) return undefined
  return { scheme, host, port, path }
}

function isScheme(text: string | undefined): text is TargetUrl['scheme'] {
  return text === 'http' || text === 'https' || text === 'mqtt' || text === 'kafka'
}

/** IPv4 addresses are labels of digits; what looks like one and is none is found when it is resolved. */
function isHost(host: string): boolean {
  if (host.startsWith('[')) return URL.canParse(`http://${host}/`)
  return host.length <= maxName_characters && host.split('.').every((part) => label.test(part))
}
