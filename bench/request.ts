import type { Address } from './connection.js'

/**
 * A request of a load. Its body may hold the mark `fresh` where a number belongs that was never sent before, and
 * `anyDevice` where the number of a device belongs.
 */
export interface Request {
  readonly verb: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly body?: string
  /** How many devices there are for `anyDevice` to stand for. */
  readonly devices?: number
}

/** Stands in a body for a number of as many digits, so that the length of the body is known before the number. */
export const fresh = '@@@@@@@@@'

/** The first of the numbers that take the place of `fresh`: all have the same number of digits. */
export const firstFresh = 10 ** (fresh.length - 1)

/** Stands in a body for the number of a device, in as many digits as the ids of devices have: each in its turn. */
export const anyDevice = '#######'

/** As many devices as ids can tell apart. */
export const mostDevices = 10 ** anyDevice.length

/** How far apart the devices of two requests are that follow each other: a prime, so that every one has its turn. */
const stride = 7_919

/** A request as it goes over the wire, but for its fresh number. */
export type Prepared = (number: number) => string

/** Writes a request for a server. Done before the clock starts: in the load itself only the number is put in. */
export function prepare({ verb, path, body, devices }: Request, address: Address): Prepared {
  const head = [
    `${verb} ${path} HTTP/1.1`,
    `Host: ${address.host.includes(':') ? `[${address.host}]` : address.host}:${address.port}`,
    'Accept: application/json',
    ...(body === undefined
      ? []
      : ['Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body, 'utf8')}`]),
  ]
  const text = `${head.join('\r\n')}\r\n\r\n${body ?? ''}`
  const pieces = text.split(fresh)
  const numbered: Prepared = pieces.length === 1 ? () => text : (number) => pieces.join(String(number))
  if (devices === undefined) return numbered
  return (number) => numbered(number).replaceAll(anyDevice, deviceDigits(deviceInTurn(number, devices)))
}

/** Which of this many devices has its turn: all of them, far from each other, before the first one again. */
export function deviceInTurn(number: number, devices: number): number {
  return ((number % devices) * stride) % devices
}

/** A request that is sent as it stands. */
export function written(request: Request, address: Address): string {
  return prepare(request, address)(firstFresh)
}

/** The number of a device as its id has it. */
export function deviceDigits(number: number): string {
  return String(number).padStart(anyDevice.length, '0')
}
