/** A list of host names and `*.domain`, all in lower case and without the dot that may end a name. */
export class HostNames {
  readonly #names: ReadonlySet<string>
  /** With the dot that they begin with. */
  readonly #domains: readonly string[]

  constructor(names: readonly string[]) {
    this.#names = new Set(names.filter((name) => !name.startsWith('*.')))
    this.#domains = names.filter((name) => name.startsWith('*.')).map((name) => name.slice(1))
  }

  has(name: string): boolean {
    return this.#names.has(name) || this.#domains.some((domain) => name.endsWith(domain))
  }
}

/** Whether nobody but this machine reaches an address. */
export function isLoopback(address: string): boolean {
  return address === '::1' || /^(::ffff:)?127\./i.test(address)
}

/** A message that has passed this many brokers goes no further [subscriptions 8.4]. */
const mostHops = 10
/** A longer `Via` is that of too many: it is stored and sent on with every message. */
const longest = 4096

/** How a broker names itself in `Via`. */
function hopName(brokerId: string): string {
  return `rigel-${brokerId}`
}

/** Whether a name is that of a broker. Names of hosts mean the same in either case. */
export function isHopName(name: string): boolean {
  return name.toLowerCase().startsWith('rigel-')
}

/** The names of those who passed a message on, by its header `Via`. */
export function hopsOf(via: string | undefined): readonly string[] {
  if (via === undefined || via === '') return []
  const entries = via.split(',').map((entry) => entry.trim())
  return entries.filter((entry) => entry !== '').map((entry) => entry.split(/[ \t]+/)[1] ?? '')
}

/**
 * Whether what came with this header has gone far enough: it has been at this broker before, or at ten others. It is
 * then dealt with here alone, so that every ring comes to its end [subscriptions 8.4].
 */
export function endsHere(via: string | undefined, brokerId: string): boolean {
  // Most requests have none.
  if (via === undefined) return false
  return hasPassedMany(via) || hopsOf(via).includes(hopName(brokerId))
}

/** Whether what came with this header has passed ten brokers, whichever they are. */
export function hasPassedMany(via: string | undefined): boolean {
  return via !== undefined && (via.length > longest || hopsOf(via).length >= mostHops)
}

/** The header of what this broker passes on. */
export function viaOf(via: string | undefined, brokerId: string): string {
  const own = `1.1 ${hopName(brokerId)}`
  return via === undefined || via === '' ? own : `${via}, ${own}`
}
