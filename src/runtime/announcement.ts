import { openManagementPort } from '../flags/command-line.js'
import { isUnspecified, originOf } from '../flags/own-broker.js'
import type { Options } from '../flags/settings.js'
import { numberOf } from '../number-of.js'
import type { Facts } from '../observe/log/log.js'
import { builtVersion, versionFacts } from '../version.js'

export interface Ready {
  readonly port: number
  readonly partitions: number
}

/** The line of life of a start, and its facts [management 10.1]. */
export function startLine(options: Options, partitions: number): readonly [text: string, facts: Facts] {
  const { port, localIp, dbPath, writeConcern, adminPort, adminIp } = options
  const { version, git_hash } = versionFacts
  const address = localIp ?? 'all addresses'
  const parts = [
    ...[address, dbPath, numberOf(partitions, 'partition')],
    `updates ${writeConcern === 1 ? 'on disk' : 'in memory'} before their answer`,
    ...(adminPort === undefined ? [] : [`management on port ${adminPort} of ${adminIp}`]),
  ]
  const facts = { version, git_hash, port, address, dbPath, partitions, writeConcern }
  return [`Rigel ${builtVersion()} starts on port ${port} (${parts.join(', ')})`, facts]
}

/** The line of life of a broker that is ready [management 12.1]. */
export function readyText({ dbPath }: Options, { port, partitions }: Ready): string {
  return `Rigel ${versionFacts.version} is ready on port ${port} (${numberOf(partitions, 'partition')}, ${dbPath})`
}

/** The text that a broker prints on a terminal when it is ready: version, addresses, safety settings, how to stop it. */
export function announcement(options: Options, { port, partitions }: Ready): string {
  const { dbPath, writeConcern, notifications, apiKeys } = options
  const rows = [
    ['address', addressOf(options, port)],
    ...(options.noConsole ? [] : [['console', `${managementOrigin(options, port)}/console`]]),
    ['reference', `${shownOrigin(options, options.localIp, port)}/docs`],
    ['data', `${dbPath}, ${numberOf(partitions, 'partition')}`],
    ['updates', writeConcern === 1 ? 'on disk before their response' : 'on disk within 50 ms of their response'],
    ...(notifications.simulated ? [['notifications', 'simulated: nothing is sent']] : []),
    [
      'clients',
      apiKeys === undefined ? 'everybody who reaches it: -apiKeys asks for keys' : `only with a key of ${apiKeys}`,
    ],
    ['management', managementOf(options)],
  ]
  const table = rows.map(([name = '', text]) => `  ${name.padEnd(13)} ${text}`)
  return [`Rigel ${versionFacts.version} is ready. Ctrl-C ends it.`, ...table, ''].join('\n')
}

function addressOf(options: Options, port: number): string {
  const { localIp, family } = options
  const origin = shownOrigin(options, localIp, port)
  if (localIp !== undefined && !isUnspecified(localIp)) return origin
  const which = { both: 'all addresses', ipv4: 'all addresses of IPv4', ipv6: 'all addresses of IPv6' }
  return `${origin}, on ${which[localIp?.includes('.') ? 'ipv4' : family]}`
}

/** Where the management is, and with it the console. */
function managementOrigin(options: Options, port: number): string {
  const { adminPort, adminIp, localIp } = options
  return adminPort === undefined ? shownOrigin(options, localIp, port) : shownOrigin(options, adminIp, adminPort)
}

/** The beginning of a URL that this machine reaches the port by. */
function shownOrigin({ https }: Options, address: string | undefined, port: number): string {
  // Browsers on other systems open no URL with the address that stands for all.
  const host = address === undefined || isUnspecified(address) ? 'localhost' : address
  return originOf(https !== undefined, host, port)
}

function managementOf(options: Options): string {
  const { adminToken, adminPort } = options
  const open = openManagementPort(options)
  if (open !== undefined && !options.adminOpen)
    return `figures and trace levels for all on port ${open}, all else for this machine: see -adminToken, -adminOpen`
  if (open !== undefined) return `open to everybody who reaches port ${open}: -adminToken or -adminPort closes it`
  const where = adminPort === undefined ? '' : ` on port ${adminPort}`
  return adminToken === undefined ? `open to this machine${where}` : `closed by a token${where}`
}
