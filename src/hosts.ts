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
