import { openManagementPort } from '../flags/command-line.js'
import type { Options } from '../flags/settings.js'
import { versionFacts } from '../version.js'

export interface Ready {
  readonly port: number
  readonly partitions: number
}

/** The text that a broker prints on a terminal when it is ready: version, address, safety settings, how to stop it. */
export function announcement(options: Options, { port, partitions }: Ready): string {
  const { dbPath, writeConcern, notifications, apiKeys } = options
  const rows = [
    ['address', addressOf(options, port)],
    ['data', `${dbPath}, ${partitions} ${partitions === 1 ? 'partition' : 'partitions'}`],
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

function addressOf({ https, localIp, family }: Options, port: number): string {
  const scheme = https === undefined ? 'http' : 'https'
  if (localIp !== undefined) return `${scheme}://${localIp.includes(':') ? `[${localIp}]` : localIp}:${port}`
  const which = { both: 'all addresses', ipv4: 'all addresses of IPv4', ipv6: 'all addresses of IPv6' }[family]
  return `${scheme}://localhost:${port}, on ${which}`
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
