import { timingSafeEqual, X509Certificate } from 'node:crypto'
import { systemFaultText } from '../../faults.js'
import { bearerToken, secretDigest } from '../../flags/api-keys.js'
import type { Options } from '../../flags/settings.js'
import { readPem, readTls } from '../../http/listen.js'
import { err, ok, type Result } from '../../result.js'
import { readTextFile } from '../../text-file.js'

type LinkOptions = NonNullable<Options['cluster']>['link']

/**
 * How nodes of a cluster authenticate each other: by certificates of an authority of their own, by tokens, or by both. Plain
 * data.
 */
export interface LinkSecurity {
  /** All as PEM. Whoever shows a certificate of this authority is taken for a node: the authority must sign nothing else. */
  readonly tls: { readonly key: string; readonly cert: string; readonly ca: string } | undefined
  /** Any of them is accepted, the first one is sent. Empty where certificates suffice. */
  readonly tokens: readonly string[]
}

/** Reads and checks the files that the flags name. A refusal names the flag and what is wrong. */
export async function readLinkSecurity(link: LinkOptions): Promise<Result<LinkSecurity, string>> {
  const { tls, tokenFile } = link
  const tokens = tokenFile === undefined ? ok([]) : readLinkTokens(tokenFile)
  if (!tokens.ok) return err(`-clusterTokenFile: ${tokens.error}`)
  if (tls === undefined) return ok({ tls: undefined, tokens: tokens.value })
  const pair = await readTls(tls, { key: 'clusterKey', cert: 'clusterCert' })
  if (!pair.ok) return err(pair.error.reason)
  const ca = readPem('clusterCa', tls.ca)
  if (!ca.ok) return err(ca.error.reason)
  if (!isCertificate(ca.value)) return err(`-clusterCa: '${tls.ca}' is no certificate of an authority in PEM form`)
  return ok({ tls: pair.value && { ...pair.value, ca: ca.value }, tokens: tokens.value })
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).ca
  } catch {
    return false
  }
}

/** Shorter tokens can be guessed. */
const tokenLeast = 32
const tokensMost = 8
const file_bytes = 64 * 1024

/**
 * Reads the tokens of a file, one per line. To replace a token without interruption: add the new one as the last line on all
 * nodes, then make it the first line on all, then remove the old one.
 */
export function readLinkTokens(file: string): Result<readonly string[], string> {
  try {
    const tokens = readTextFile(file, file_bytes)
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '')
    if (tokens.length === 0) return err(`'${file}' holds no token: each line is to be one`)
    if (tokens.length > tokensMost)
      return err(`'${file}' holds ${tokens.length} tokens, at most ${tokensMost} are accepted`)
    const wrong = tokens.findIndex((token) => token.length < tokenLeast || !/^[\x21-\x7e]+$/.test(token))
    if (wrong === -1) return ok(tokens)
    return err(
      `'${file}': line ${wrong + 1} is no token of at least ${tokenLeast} visible ASCII characters; \`openssl rand -hex 32\` makes one`,
    )
  } catch (fault) {
    return err(`'${file}' cannot be read: ${systemFaultText(fault)}`)
  }
}

/** Checks in constant time whether an Authorization header carries one of the tokens. */
export class TokenCheck {
  readonly #digests: readonly Buffer[]

  constructor(tokens: readonly string[]) {
    this.#digests = tokens.map(secretDigest)
  }

  /** Accepts everything when there are no tokens. */
  accepts(authorization: string | undefined): boolean {
    if (this.#digests.length === 0) return true
    const given = secretDigest(bearerToken(authorization) ?? '')
    let accepted = false
    for (const digest of this.#digests) accepted = timingSafeEqual(given, digest) || accepted
    return accepted
  }
}
