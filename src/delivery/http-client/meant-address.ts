import { type BlockList, isIP } from 'node:net'

/** Where the system connects to for an address as it is written, and what else it leads to. */
interface MeantAddress {
  /** What is connected to: no address of IPv6 for one of IPv4, and loopback for the unspecified ones. */
  readonly connected: string
  /** All that a rule against one of them is against, the first among them. */
  readonly all: readonly string[]
}

const loopback = { ipv4: '127.0.0.1', ipv6: '::1' } as const

/**
 * What an address means to whoever connects to it. The unspecified addresses are this machine, of either family; an address
 * of IPv6 may hold one of IPv4 that it is translated to on the way.
 */
export function meantAddress(written: string): MeantAddress {
  const [address = ''] = written.split('%')
  if (isIP(address) !== 6)
    return isUnspecified4(address) ? self('ipv4', address) : { connected: address, all: [address] }
  const groups = groupsOf(address)
  const mapped = embedded(groups, [0, 0, 0, 0, 0, 0xffff], 6)
  if (mapped !== undefined) return meantAddress(mapped)
  if (groups.every((group) => group === 0)) return self('ipv6', address)
  const inside = translations.flatMap(({ prefix, at }) => embedded(groups, prefix, at) ?? [])
  return { connected: address, all: [address, ...inside.flatMap((each) => meantAddress(each).all)] }
}

function self(family: keyof typeof loopback, address: string): MeantAddress {
  return { connected: loopback[family], all: [address, loopback.ipv4, loopback.ipv6] }
}

function isUnspecified4(address: string): boolean {
  return address === '0.0.0.0'
}

/** Addresses that hold one of IPv4 from a group on: of NAT64, IPv4-compatible ones, 6to4. */
const translations: readonly { readonly prefix: readonly number[]; readonly at: number }[] = [
  { prefix: [0x64, 0xff9b, 0, 0, 0, 0], at: 6 },
  { prefix: [0, 0, 0, 0, 0, 0], at: 6 },
  { prefix: [0x2002], at: 1 },
]

function embedded(groups: readonly number[], prefix: readonly number[], at: number): string | undefined {
  if (!prefix.every((group, index) => groups[index] === group)) return undefined
  return [groups[at] ?? 0, groups[at + 1] ?? 0].flatMap((group) => [group >> 8, group & 0xff]).join('.')
}

/** The eight groups of an address of IPv6. */
function groupsOf(address: string): readonly number[] {
  const [, head = address, quad] = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(address) ?? []
  const bytes = (quad ?? '').split('.').map(Number)
  const pair = (at: number) => (((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0)).toString(16)
  const text = quad === undefined ? head : `${head}${pair(0)}:${pair(2)}`
  const [left = '', right] = text.split('::')
  const parse = (part: string) => (part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16)))
  const [before, after] = [parse(left), parse(right ?? '')]
  const zeros = Array.from({ length: Math.max(0, 8 - before.length - after.length) }, () => 0)
  return right === undefined ? before : [...before, ...zeros, ...after]
}

/** Puts an address on a list. */
export function addAddress(list: BlockList, address: string): void {
  list.addAddress(address, familyOf(address))
}

/** Whether one of the addresses is on a list. */
export function contains(list: BlockList, addresses: readonly string[]): boolean {
  return addresses.some((address) => list.check(address, familyOf(address)))
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4'
}
