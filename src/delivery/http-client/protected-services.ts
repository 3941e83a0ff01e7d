import type { LookupAddress } from 'node:dns'
import { BlockList, isIP } from 'node:net'
import { networkInterfaces } from 'node:os'
import { isLoopback } from '../../hosts.js'
import type { ProtectedEndpoints, ProtectedService } from '../../threads/shared-memory/protected-endpoints.js'
import { addAddress, contains, meantAddress } from './meant-address.js'
import { GivenUp } from './response-handler.js'

/** All addresses of a name. */
type ResolveAll = (name: string) => Promise<readonly LookupAddress[]>

/** For so long it is not asked again what the name of a service means. */
const resolved_ms = 5000

/** The most addresses that are remembered of a name, which may have others each time that it is asked for. */
const rememberedMost = 64

/** What is known of a name of a service. */
interface ResolvedName {
  /** By `performance.now()`. */
  readonly resolved_ms: number
  /** All that it was ever resolved to; rejects when it never was. */
  readonly addresses: Promise<readonly string[]>
}

/**
 * Says of an address and a port whether a connection would reach a protected service. The names of services are resolved when it is asked
 * about one of their ports, so that it does not matter by which name or address somebody else reaches them. All addresses of this machine
 * are one, since whatever listens on one of them may listen on all.
 */
export class ProtectedServices {
  readonly #endpoints: ProtectedEndpoints
  readonly #resolve: ResolveAll
  readonly #names = new Map<string, ResolvedName>()

  constructor(endpoints: ProtectedEndpoints, resolve: ResolveAll) {
    this.#endpoints = endpoints
    this.#resolve = resolve
  }

  /** Greater when something else is protected. */
  get version(): number {
    return this.#endpoints.version
  }

  /** Whether there is a protected service at this port, on whichever host. */
  isPort(port: number): boolean {
    return this.#at(port).length > 0
  }

  /** Whether a service at this port has a host of this name. */
  isNamed(name: string, port: number): boolean {
    return this.#at(port).some(({ hosts }) => hosts.some((host) => host.toLowerCase().replace(/\.$/, '') === name))
  }

  /**
   * Those of the addresses at which there is no protected service at this port. Rejects when that is not known, because the name of a
   * service was never resolved.
   */
  async unprotected<Address extends { readonly address: string }>(
    addresses: readonly Address[],
    port: number,
  ): Promise<readonly Address[]> {
    const services = this.#at(port)
    if (services.length === 0) return addresses
    const hosts = [...new Set(services.flatMap((service) => service.hosts))]
    const known = await Promise.all(hosts.map((host) => this.#addressesOf(host)))
    const list = listOf(known.flat())
    return addresses.filter(({ address }) => !contains(list, meantAddress(address).all))
  }

  #at(port: number): readonly ProtectedService[] {
    return this.#endpoints.services.filter(({ ports }) => ports.includes(port))
  }

  #addressesOf(host: string): Promise<readonly string[]> {
    const [address = ''] = host.split('%')
    if (isIP(address) !== 0) return Promise.resolve([address])
    const before = this.#names.get(host)
    if (before !== undefined && performance.now() - before.resolved_ms < resolved_ms) return before.addresses
    const addresses = this.#resolved(host, before?.addresses ?? Promise.resolve([]))
    addresses.catch(() => undefined) // Whoever asked hears of it.
    this.#names.set(host, { resolved_ms: performance.now(), addresses })
    return addresses
  }

  async #resolved(host: string, earlier: Promise<readonly string[]>): Promise<readonly string[]> {
    const before = await earlier.catch(() => [])
    const found = await this.#resolve(host).catch(() => [])
    const all = new Set([...found.map(({ address }) => address), ...before])
    if (all.size === 0) throw unchecked
    return [...all].slice(0, rememberedMost)
  }
}

/** It may be right a moment later, when the name of the service is resolved. */
const unchecked = new GivenUp('destination not allowed: a name of the cluster at its port cannot be resolved')

/** A list of addresses as the system connects to them, with all of this machine if one of them is of this machine. */
function listOf(addresses: readonly string[]): BlockList {
  const list = new BlockList()
  const own = new BlockList()
  own.addSubnet('127.0.0.0', 8, 'ipv4')
  for (const one of ['::1', ...ownAddresses()]) addAddress(own, one)
  let isHere = false
  for (const address of addresses) {
    const { connected, all } = meantAddress(address)
    addAddress(list, connected)
    isHere ||= contains(own, all) || all.some(isLoopback)
  }
  if (!isHere) return list
  list.addSubnet('127.0.0.0', 8, 'ipv4')
  for (const one of ['::1', ...ownAddresses()]) addAddress(list, one)
  return list
}

/** Without loopback. They are looked up each time, since they may change. */
export function ownAddresses(): readonly string[] {
  const all = Object.values(networkInterfaces()).flatMap((each) => each?.map(({ address }) => address) ?? [])
  return all.flatMap((address) => {
    const [plain = ''] = address.split('%')
    return isIP(plain) === 0 || isLoopback(plain) ? [] : [meantAddress(plain).connected]
  })
}
