/** Schemes, host and port are those of RFC 3986; a host may have underscores, as names of containers do. */
const url = /^https?:\/\/(?:(?<name>[^/?#:[\]]+)|\[[0-9a-f:.]+\])(?::(?<port>\d{1,5}))?(?:[/?#][^\s\p{Cc}]*)?$/iu

const label = /^(?!-)[\w-]{1,63}(?<!-)$/
const longestName = 253
const highestPort = 65_535

/**
 * Whether notifications can be posted to a reference: a URL of http or https with a legal host name and a port from 1 to
 * 65535, or none [subscriptions 2.1.1].
 */
export function isReference(text: string): boolean {
  const parts = url.exec(text)?.groups
  if (parts === undefined) return false
  const { name, port } = parts
  const hostIsLegal = name === undefined || isHostName(name)
  const portIsLegal = port === undefined || (Number(port) >= 1 && Number(port) <= highestPort)
  // Addresses such as 10.0.0.256 look like names; whoever sends would not take them.
  return hostIsLegal && portIsLegal && URL.canParse(text)
}

function isHostName(name: string): boolean {
  return (
    name.length <= longestName &&
    name
      .replace(/\.$/, '')
      .split('.')
      .every((part) => label.test(part))
  )
}
