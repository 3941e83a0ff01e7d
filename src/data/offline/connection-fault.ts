import { X509Certificate } from 'node:crypto'
import { connect, rootCertificates } from 'node:tls'
import { failureText, systemFaultText } from '../../faults.js'
import { readTextFile } from '../../text-file.js'
import { CommandFailure } from './command.js'

/** Why a request got no response. */
export interface ConnectionFault {
  /** `otherProtocol`: HTTP where the broker speaks HTTPS, or the other way; `trust`: nobody is known who issued its certificate. */
  readonly kind: 'otherProtocol' | 'trust' | 'certificate' | 'unreachable'
  readonly text: string
}

/** Finds out what is behind the error of a request. Connects once more where only that shows whether the broker speaks HTTPS. */
export async function connectionFaultOf(address: URL, fault: unknown): Promise<ConnectionFault> {
  // `fetch` gives the error of the connection as the cause of its own.
  const error = fault instanceof Error && fault.cause instanceof Error ? fault.cause : fault
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const text = singleLine(failureText(error))
  if (address.protocol === 'https:') {
    if (notTls.some((reason) => text.includes(reason)))
      return { kind: 'otherProtocol', text: 'the broker speaks HTTP there, not HTTPS' }
    if (/^(DEPTH_ZERO_)?SELF_SIGNED|^UNABLE_TO_|^CERT_UNTRUSTED/.test(code)) return { kind: 'trust', text }
    return { kind: /^(CERT_|ERR_TLS_)/.test(code) ? 'certificate' : 'unreachable', text }
  }
  return ofBrokenConnection(code) && (await speaksTls(address))
    ? { kind: 'otherProtocol', text: 'the broker speaks HTTPS there, not HTTP' }
    : { kind: 'unreachable', text }
}

/** The certificates of public authorities and of a file, the option of which `source` names. Throws `CommandFailure`. */
export function trustedWith(file: string, source: string): string[] {
  let text: string
  try {
    text = readTextFile(file)
  } catch (fault) {
    throw new CommandFailure(`${source}: ${file} cannot be read: ${systemFaultText(fault)}`)
  }
  if (firstCertificate(text) === undefined)
    throw new CommandFailure(`${source}: ${file} holds no certificate in PEM form`)
  return [...rootCertificates, text]
}

/** The first certificate of a text in PEM form; undefined without one. */
export function firstCertificate(text: string): X509Certificate | undefined {
  try {
    return new X509Certificate(text)
  } catch {
    return undefined
  }
}

/** What OpenSSL reports of a response in plain text. */
const notTls = ['wrong version number', 'packet length too long', 'http request']

/** OpenSSL ends its reports with a line break, and begins them with the number of a thread and the place in its sources. */
function singleLine(text: string): string {
  const line = text.trim().split('\n', 1)[0] ?? ''
  return line.includes(':SSL routines:') ? `TLS: ${line.split(':')[5] ?? line}` : line
}

/** Whether the other end has ended the connection, or sent what is not HTTP. */
function ofBrokenConnection(code: string): boolean {
  return code === 'ECONNRESET' || code === 'EPIPE' || code === 'UND_ERR_SOCKET' || code.startsWith('HPE_')
}

/** How long a broker may take for its part of a handshake. */
const handshake_ms = 2000

/** Whether somebody answers a TLS handshake there. */
function speaksTls({ hostname, port }: URL): Promise<boolean> {
  const host = hostname.replace(/^\[|\]$/g, '')
  return new Promise((resolve) => {
    // Only whether there is TLS matters, and nothing is sent.
    const socket = connect({ host, port: Number(port || 80), rejectUnauthorized: false })
    const end = (speaks: boolean) => {
      socket.destroy()
      resolve(speaks)
    }
    socket.setTimeout(handshake_ms, () => end(false))
    socket.once('secureConnect', () => end(true)).once('error', () => end(false))
    socket.once('close', () => resolve(false))
  })
}
