import { isIP } from 'node:net'
import { err, ok, type Result } from '../result.js'
import type { ValueKind } from './flag.js'

/** Where messages may or may not go: plain data, so that it reaches every thread. */
export interface DestinationList {
  readonly networks: readonly Network[]
  /** In lower case: `host.example`, or `*.example` for all names below it. */
  readonly names: readonly string[]
}

/** An address with all its bits, or a network. */
export interface Network {
  readonly family: 'ipv4' | 'ipv6'
  readonly address: string
  readonly prefix: number
}

const wrong = 'is not a list of addresses, networks, host names and *.domains, such as 10.0.0.0/8,::1,hub.example,*.lan'

/** Addresses, networks in CIDR notation, host names and `*.domain`, separated by commas. */
export const destinationList: ValueKind<DestinationList> = {
  shown: 'address|network|name|*.domain[,...]',
  parse: (given) => {
    const networks: Network[] = []
    const names: string[] = []
    for (const word of given.split(',').map((each) => each.trim())) {
      const network = parseNetwork(word)
      const name = isName(word)
      if (network.ok) networks.push(network.value)
      else if (name) names.push(word.toLowerCase().replace(/\.$/, ''))
      else return err(wrong)
    }
    return ok({ networks, names })
  },
}

/** Host names and `*.domain`, separated by commas. */
export const hostNames: ValueKind<readonly string[]> = {
  shown: 'name|*.domain[,...]',
  parse: (given) => {
    const names = given.split(',').map((each) => each.trim())
    if (!names.every(isName)) return err('is not a list of host names and *.domains, such as hub.example,*.lan')
    return ok(names.map((name) => name.toLowerCase().replace(/\.$/, '')))
  },
}

function parseNetwork(word: string): Result<Network, 'none'> {
  const [, address = '', prefix] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(word) ?? []
  const version = isIP(address)
  const bits = version === 4 ? 32 : 128
  const length = prefix === undefined ? bits : Number(prefix)
  if (version === 0 || length > bits || address.includes('%')) return err('none')
  return ok({ family: version === 4 ? 'ipv4' : 'ipv6', address, prefix: length })
}

const label = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/i

/** The last label is no number, not even a hexadecimal one: what a URL would take for an address and is none is a mistake. */
function isName(word: string): boolean {
  if (word.length > 253) return false
  const labels = word.replace(/^\*\./, '').replace(/\.$/, '').split('.')
  return labels.every((each) => label.test(each)) && !/^(?:\d+|0x[0-9a-f]*)$/i.test(labels.at(-1) ?? '')
}
