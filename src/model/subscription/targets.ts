export interface NotificationUrl {
  readonly scheme: 'http' | 'https' | 'mqtt' | 'kafka'
  /** With brackets around an IPv6 address. */
  readonly host: string
  readonly port: number | undefined
  /** Includes the query; may be empty. */
  readonly path: string
}

const form = /^(https?|mqtt|kafka):\/\/(\[[\da-f:.]+\]|[^/?#:@[\]\\\s]+)(?::(\d{1,5}))?([/?][^\s#]*)?$/i
const label = /^(?!-)[a-z\d-]{1,63}(?<!-)$/i

/** The reference of a subscription whose notifications wait until a client takes them, as a stream of events. */
export const streamReference = 'sse:'

/** Parses a URL; undefined when it is malformed [NGSIv2 subscriptions 1.3]. */
export function parseNotificationUrl(text: string): NotificationUrl | undefined {
  const [, scheme = '', host = '', digits, path = ''] = form.exec(text) ?? []
  const port = digits === undefined ? undefined : Number(digits)
  if (!isHost(host) || (port !== undefined && (port < 1 || port > 65_535))) return undefined
  switch (scheme.toLowerCase()) {
    case 'http':
      return { scheme: 'http', host, port, path }
    case 'https':
      return { scheme: 'https', host, port, path }
    case 'mqtt':
      return { scheme: 'mqtt', host, port, path }
    default:
      return { scheme: 'kafka', host, port, path }
  }
}

/** An address, or a name of labels separated by single dots. */
function isHost(host: string): boolean {
  if (host.startsWith('[')) return URL.canParse(`http://${host}/`)
  return host.length <= 253 && host.split('.').every((each) => label.test(each)) && URL.canParse(`http://${host}/`)
}

const maxTopic_bytes = 65_535

/** Whether a topic can be published to: it is not a pattern, and its length fits into MQTT [NGSIv2 subscriptions 2.5, 7.1]. */
export function isTopic(topic: string): boolean {
  return topic !== '' && !/[+#\0]/.test(topic) && Buffer.byteLength(topic) <= maxTopic_bytes
}
