import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import { systemFaultText } from '../faults.js'
import { err, ok, type Result } from '../result.js'
import { readTextFile } from '../text-file.js'

/** A key of the interfaces for clients, as a line of the file of `-apiKeys` has it: not the key itself, only its hash. */
export interface ApiKey {
  /** For the log. */
  readonly name: string
  /** SHA-256 in hexadecimal digits. */
  readonly sha256: string
  /** In lower case, the default tenant as the empty text; nothing for all tenants. */
  readonly tenants: readonly string[] | undefined
  readonly mayWrite: boolean
}

/** How the default tenant is written, which has no name. */
const defaultTenant = '-'

const file_bytes = 16 * 2 ** 20
const linePattern = /^(\S+)\s+sha256:(\S+)\s+(\S+)\s+(\S+)$/
const form = 'the line must be: name sha256:<64 hexadecimal digits> <tenants, * for all> <read or write>'

/** Reads the file of `-apiKeys`; a refusal names the file, the line and what is wrong with it. */
export function readApiKeys(file: string, multiservice: boolean): Result<readonly ApiKey[], string> {
  try {
    const keys = parseApiKeys(readTextFile(file, file_bytes), multiservice)
    return keys.ok ? keys : err(`-apiKeys: ${file}:${keys.error}`)
  } catch (fault) {
    return err(`-apiKeys: ${file} cannot be read: ${systemFaultText(fault)}`)
  }
}

/**
 * The keys of a text, one in each line; empty lines and those that begin with `#` are none. A refusal is the number of
 * the first wrong line and what is wrong with it. Without `multiservice` there is only the default tenant to name.
 */
function parseApiKeys(text: string, multiservice: boolean): Result<readonly ApiKey[], string> {
  const keys = new Map<string, ApiKey>()
  for (const [at, written] of text.split('\n').entries()) {
    const line = written.trim()
    if (line === '' || line.startsWith('#')) continue
    const key = parseLine(line, multiservice)
    const again = key.ok && keys.has(key.value.sha256) ? err('the same hash stands in a line before') : key
    if (!again.ok) return err(`${at + 1}: ${again.error}`)
    keys.set(again.value.sha256, again.value)
  }
  return keys.size === 0 ? err('1: there is no key in it, so nobody could be served') : ok([...keys.values()])
}

function parseLine(line: string, multiservice: boolean): Result<ApiKey, string> {
  const [, name, sha256 = '', tenants = '', use = ''] = linePattern.exec(line) ?? []
  if (name === undefined) return err(form)
  if (!isKeyName(name)) return err('the name is not 1 to 64 letters, digits, dots, dashes and underscores')
  if (!/^[0-9a-f]{64}$/i.test(sha256)) return err('the hash is not 64 hexadecimal digits')
  const parsed = parseTenants(tenants, multiservice)
  if (!parsed.ok) return parsed
  if (use !== 'read' && use !== 'write') return err(`'${use.slice(0, 20)}' is neither read nor write`)
  return ok({ name, sha256: sha256.toLowerCase(), tenants: parsed.value, mayWrite: use === 'write' })
}

/** Whether a text can be the name of a key. */
export function isKeyName(name: string): boolean {
  return /^[\w.-]{1,64}$/.test(name)
}

/** The tenants of a list: `*` for all, `-` for the default one; a refusal says what is wrong. */
export function parseTenants(list: string, multiservice: boolean): Result<readonly string[] | undefined, string> {
  if (list === '*') return ok(undefined)
  const names = list.split(',')
  const wrong = names.find((name) => name !== defaultTenant && !/^\w{1,50}$/.test(name))
  if (wrong !== undefined) return err(`'${wrong.slice(0, 60)}' is no tenant; * is all, - the default one`)
  if (!multiservice && names.some((name) => name !== defaultTenant)) {
    return err('tenants need -multiservice; without it there is only -, the default one')
  }
  return ok(names.map((name) => (name === defaultTenant ? '' : name.toLowerCase())))
}

/** A new key, 256 random bits as 43 characters, and the line for the file. */
export function makeApiKey(
  name: string,
  tenants: string,
  mayWrite: boolean,
): { readonly key: string; readonly line: string } {
  const key = randomBytes(32).toString('base64url')
  return { key, line: `${name} sha256:${secretDigest(key).toString('hex')} ${tenants} ${mayWrite ? 'write' : 'read'}` }
}

/**
 * What secrets are compared by. A fast hash is right for keys of 256 random bits: nobody can try them all, as they could
 * the passwords that slow hashes are for.
 */
export function secretDigest(secret: string): Buffer {
  return hash('sha256', secret, 'buffer')
}

/** The token that an Authorization header carries as `Bearer`; the scheme in any case. */
export function bearerToken(authorization: string | undefined): string | undefined {
  return authorization === undefined ? undefined : /^bearer (.*)$/i.exec(authorization)?.[1]?.trim()
}

interface HeldKey {
  readonly digest: Buffer
  readonly key: ApiKey
}

/**
 * The keys that are in force in a thread. A key is found by the first bytes of its digest, and compared in constant time; how
 * long finding takes says nothing of any key, since nobody can choose what a digest begins with.
 */
export class ApiKeys {
  #byStart: ReadonlyMap<string, readonly HeldKey[]> = new Map()

  constructor(keys: readonly ApiKey[]) {
    this.use(keys)
  }

  /** Has these keys be in force instead, from the next request on. */
  use(keys: readonly ApiKey[]): void {
    const byStart = new Map<string, HeldKey[]>()
    for (const key of keys) {
      const digest = Buffer.from(key.sha256, 'hex')
      const start = startOf(digest)
      byStart.set(start, [...(byStart.get(start) ?? []), { digest, key }])
    }
    this.#byStart = byStart
  }

  /** The key that a secret is, if it is one. */
  find(secret: string): ApiKey | undefined {
    const digest = secretDigest(secret)
    return this.#byStart.get(startOf(digest))?.find((held) => timingSafeEqual(held.digest, digest))?.key
  }
}

function startOf(digest: Buffer): string {
  return digest.toString('latin1', 0, 8)
}
