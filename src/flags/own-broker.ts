import { err, ok, type Result } from '../result.js'
import { flags } from './flags.js'
import { reading, tokenFrom } from './settings.js'
import { type EnvironmentVariables, readWords, type Settings } from './words.js'

/** How commands reach the broker of this machine. */
export interface OwnBroker {
  /** The beginning of the URLs of what is for clients, for example `http://127.0.0.1:1026`; version and health are there as well. */
  readonly context: string
  /** That of the management. */
  readonly management: string
  /** The file with its certificate; undefined if none is known. */
  readonly cert: string | undefined
}

/**
 * Finds the broker of this machine by the variables that it is started with. Refuses with the line that names a mistake in one
 * of them. Its flags are not known here.
 */
export function ownBroker(environment: EnvironmentVariables): Result<OwnBroker, string> {
  const { port, localIp, ipv6, https, cert, adminPort, adminIp } = flags
  const settings = settingsOf([port, localIp, ipv6, https, cert, adminPort, adminIp], environment)
  if (!settings.ok) return settings
  const { value, on } = reading(settings.value)
  const reached = (address: string | undefined, portNumber: number): string => {
    const isIpv6 = address === undefined ? on(ipv6) : address.includes(':')
    const loopback = isIpv6 ? '::1' : '127.0.0.1'
    return originOf(on(https), address === undefined || isUnspecified(address) ? loopback : address, portNumber)
  }
  const context = reached(value(localIp), value(port))
  const ownPort = value(adminPort)
  const management = ownPort === undefined ? context : reached(value(adminIp), ownPort)
  // As for an address with a zone.
  const wrong = [context, management].find((url) => !URL.canParse(url))
  if (wrong !== undefined) return err(`${wrong} is no URL of HTTP`)
  return ok({ context, management, cert: on(https) ? value(cert) : undefined })
}

/** The management token in the variables of the broker of this machine; refuses with the line that names a mistake. */
export function ownToken(environment: EnvironmentVariables): Result<string | undefined, string> {
  const { adminToken, adminTokenFile } = flags
  const token = settingsOf([adminToken], environment)
  if (!token.ok || token.value.size > 0) return token.ok ? tokenFrom(token.value) : token
  const file = settingsOf([adminTokenFile], environment)
  return file.ok ? tokenFrom(file.value) : file
}

/** The beginning of a URL: scheme, host and port. */
export function originOf(isHttps: boolean, host: string, port: number): string {
  return `${isHttps ? 'https' : 'http'}://${host.includes(':') ? `[${host}]` : host}:${port}`
}

/** Whether an address stands for all addresses, as 0.0.0.0 and :: do: it is none to connect to. */
export function isUnspecified(address: string): boolean {
  return [...address].every((character) => '0.:'.includes(character))
}

/** The settings that variables give to these flags: mistakes in other variables do not matter here. */
function settingsOf(
  read: readonly { readonly variable?: string | undefined }[],
  environment: EnvironmentVariables,
): Result<Settings, string> {
  const names = new Set(read.map(({ variable }) => variable))
  const variables = Object.entries(environment).filter(([name]) => names.has(name))
  const settings = readWords([], Object.fromEntries(variables))
  if (!settings.ok) return err(settings.error.line)
  return ok(typeof settings.value === 'string' ? new Map() : settings.value)
}
