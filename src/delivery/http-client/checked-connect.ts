import { connect, type LookupFunction, type Socket } from 'node:net'
import { buildConnector } from 'undici'
import type { Destinations } from './destinations.js'

/** How connections for HTTP are opened. */
interface ConnectSettings {
  /** Time limit of opening a connection. */
  readonly connectLimit_ms: number
  /** Certificates of unknown authorities are accepted. */
  readonly insecure: boolean
  readonly destinations: Destinations
}

/** For clients of undici: opens connections to allowed destinations only. */
export function checkedConnector({
  connectLimit_ms,
  insecure,
  destinations,
}: ConnectSettings): buildConnector.connector {
  const common = { timeout: connectLimit_ms, rejectUnauthorized: !insecure }
  const connectors = new WeakMap<LookupFunction, buildConnector.connector>()
  // One for each lookup, since it keeps TLS sessions: nearly all ports have the same lookup.
  const connectorOf = (lookup: LookupFunction): buildConnector.connector => {
    const known = connectors.get(lookup) ?? buildConnector({ ...common, lookup })
    connectors.set(lookup, known)
    return known
  }
  return (options, callback) => {
    const port = Number(options.port || (options.protocol === 'https:' ? 443 : 80))
    destinations.lookupFor(options.hostname, port).then(
      (lookup) => connectorOf(lookup)(options, callback),
      (fault: Error) => callback(fault, null),
    )
  }
}

/** Begins to connect to a host and a port over TCP; rejects when that is no allowed destination. */
export async function checkedSocket(destinations: Destinations, host: string, port: number): Promise<Socket> {
  return connect({ host, port, lookup: await destinations.lookupFor(host, port), noDelay: true })
}
