import type { Address } from './connection.js'

/** A request of a load. Its body may hold the mark `fresh` where a number belongs that was never sent before. */
export interface Request {
  readonly verb: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  readonly body?: string
}

/** Stands in a body for a number of as many digits, so that the length of the body is known before the number. */
export const fresh = '@@@@@@@@@'

/** The first of the numbers that take the place of `fresh`: all have the same number of digits. */
export const firstFresh = 10 ** (fresh.length - 1)

/** A request as it goes over the wire, but for its fresh number. */
export type Prepared = (number: number) => string

/** Writes a request for a server. Done before the clock starts: in the load itself only the number is put in. */
export function prepare({ verb, path, body }: Request, address: Address): Prepared {
  const head = [
    `${verb} ${path} HTTP/1.1`,
    `Host: ${address.host.includes(':') ? `[${address.host}]` : address.host}:${address.port}`,
    'Accept: application/json',
    ...(body === undefined
      ? []
      : ['Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body, 'utf8')}`]),
  ]
  const text = `${head.join('\r\n')}\r\n\r\n${body ?? ''}`
  if (!text.includes(fresh)) return () => text
  const pieces = text.split(fresh)
  return (number) => pieces.join(String(number))
}

/** A request that is sent as it stands. */
export function written(request: Request, address: Address): string {
  return prepare(request, address)(firstFresh)
}
