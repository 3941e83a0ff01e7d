/** A request was given up on this side, for this reason. */
export class GivenUp extends Error {}

export const timedOut = new GivenUp('timeout')

/** Why there is no response. */
interface FaultReason {
  /** A few words: `timeout`, `connection refused`. */
  readonly reason: string
  /** The request itself is at fault: it would fail again. */
  readonly permanent: boolean
}

/** The code by which a connection is refused to a destination that is not allowed. */
const deniedCode = 'DESTINATION_DENIED'

export function denial(hostname: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${hostname} is not allowed as a destination`), { code: deniedCode })
}

/** The reasons for codes of Node, of undici and of the resolver; what is not here is shown by its code. */
const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  ECONNABORTED: 'connection reset',
  EPIPE: 'connection reset',
  UND_ERR_SOCKET: 'connection reset',
  ETIMEDOUT: 'timeout',
  UND_ERR_CONNECT_TIMEOUT: 'timeout',
  EHOSTUNREACH: 'host unreachable',
  ENETUNREACH: 'host unreachable',
  ENOTFOUND: 'name not resolved',
  EAI_AGAIN: 'name not resolved',
  EAI_FAIL: 'name not resolved',
  EAI_NODATA: 'name not resolved',
  UND_ERR_HEADERS_OVERFLOW: 'response head too long',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'malformed response',
}

/** What it means that a connection or an exchange failed; without addresses, which would only repeat the URL. */
export function reasonOfFault(fault: unknown): FaultReason {
  if (fault instanceof GivenUp) return { reason: fault.message, permanent: false }
  const code = fault instanceof Error && 'code' in fault ? String(fault.code) : ''
  if (code === deniedCode) return { reason: 'destination not allowed', permanent: true }
  if (code === 'UND_ERR_INVALID_ARG') return { reason: 'the request cannot be written', permanent: true }
  return { reason: reasonOfCode(code), permanent: false }
}

function reasonOfCode(code: string): string {
  if (code.startsWith('HPE_')) return 'malformed response'
  const reason = reasons[code]
  if (reason !== undefined) return reason
  if (/CERT|SSL|TLS|SIGNATURE|EPROTO/.test(code)) return `TLS failed (${code})`
  return code === '' ? 'connection failed' : code
}
