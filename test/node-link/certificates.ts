import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'

/** A certificate with its key, as PEM. */
export interface Certified {
  readonly cert: string
  readonly key: string
}

/** An authority that was made for one test. */
export class Authority {
  readonly #name: string
  readonly #key: KeyObject
  /** Its own certificate, as PEM. */
  readonly ca: string

  constructor(name = 'authority of a test') {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    this.#name = name
    this.#key = privateKey
    const basic = extension([2, 5, 29, 19], sequence(boolean(true)), true)
    const usage = extension([2, 5, 29, 15], Buffer.from([3, 2, 1, 6]), true)
    this.ca = certificate({ subject: name, issuer: name, publicKey, signer: privateKey, extensions: [basic, usage] })
  }

  /** A certificate that it has signed for names and IPv4 addresses, valid from yesterday for this many days. */
  signed(names: readonly string[], days = 3): Certified {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const alternatives = names.map((name) =>
      /^[\d.]+$/.test(name) ? der(0x87, Buffer.from(name.split('.').map(Number))) : der(0x82, Buffer.from(name)),
    )
    const cert = certificate({
      subject: names[0] ?? '',
      issuer: this.#name,
      publicKey,
      signer: this.#key,
      extensions: [extension([2, 5, 29, 17], sequence(...alternatives), false)],
      days,
    })
    return { cert, key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() }
  }
}

interface CertificateParts {
  readonly subject: string
  readonly issuer: string
  readonly publicKey: KeyObject
  readonly signer: KeyObject
  readonly extensions: readonly Buffer[]
  readonly days?: number
}

const day_ms = 86_400_000

/** A certificate of version 3 [RFC 5280 4.1], signed with ECDSA and SHA-256. */
function certificate({ subject, issuer, publicKey, signer, extensions, days = 3 }: CertificateParts): string {
  const algorithm = sequence(oid([1, 2, 840, 10045, 4, 3, 2]))
  const since = Date.now() - day_ms
  const body = sequence(
    der(0xa0, der(2, Buffer.from([2]))),
    der(2, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    algorithm,
    nameOf(issuer),
    sequence(time(since), time(since + days * day_ms)),
    nameOf(subject),
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(...extensions)),
  )
  const signature = der(3, Buffer.concat([Buffer.from([0]), sign('sha256', body, signer)]))
  const lines =
    sequence(body, algorithm, signature)
      .toString('base64')
      .match(/.{1,64}/g) ?? []
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`
}

function der(tag: number, content: Buffer): Buffer {
  const { length } = content
  const head = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255]
  return Buffer.concat([Buffer.from([tag, ...head]), content])
}

function sequence(...members: readonly Buffer[]): Buffer {
  return der(0x30, Buffer.concat(members))
}

function boolean(value: boolean): Buffer {
  return der(1, Buffer.from([value ? 255 : 0]))
}

function oid([first = 0, second = 0, ...rest]: readonly number[]): Buffer {
  const bytes = rest.flatMap((part) => {
    const digits = [part & 127]
    for (let left = part >> 7; left > 0; left >>= 7) digits.unshift((left & 127) | 128)
    return digits
  })
  return der(6, Buffer.from([first * 40 + second, ...bytes]))
}

function nameOf(text: string): Buffer {
  return sequence(der(0x31, sequence(oid([2, 5, 4, 3]), der(0x0c, Buffer.from(text)))))
}

function time(moment_ms: number): Buffer {
  const digits = new Date(moment_ms).toISOString().replaceAll(/[-:T]|\.\d+/g, '')
  return der(0x18, Buffer.from(digits))
}

function extension(of: readonly number[], value: Buffer, isCritical: boolean): Buffer {
  return sequence(oid(of), ...(isCritical ? [boolean(true)] : []), der(4, value))
}
