import { addressOf, Connection } from './connection.js'
import { appendDevices, deleteDevices, deviceId, readDevice } from './device.js'
import { refusalIn } from './ngsi.js'
import { type Request, written } from './request.js'

const devicesPerRequest = 100
const connections = 8

/** Writes the request that creates these devices with one reading. */
export type Append = (numbers: readonly number[], reading: string | number) => Request

/** How many connections write at a time, and how many devices are in a request. */
interface Pace {
  readonly writers?: number
  readonly perRequest?: number
}

/**
 * Creates the devices 0 to `count` - 1, all with one reading, and says on the way how many there are. Nothing is
 * measured, and any refusal is thrown.
 */
export function createDevices(
  url: string,
  count: number,
  reading: string | number,
  progress: (created: number) => void = () => {},
  append: Append = appendDevices,
  pace: Pace = {},
): Promise<void> {
  let created = 0
  return forGroups(
    url,
    count,
    (numbers) => append(numbers, reading),
    (numbers) => {
      created += numbers.length
      progress(created)
    },
    pace,
  )
}

/** Removes the devices 0 to `count` - 1 from a broker that others use as well. */
export function removeDevices(url: string, count: number): Promise<void> {
  return forGroups(url, count, deleteDevices)
}

/** The response of the broker to a read of this device. */
export async function deviceResponse(url: string, number: number): Promise<string> {
  return responseOf(url, readDevice(number), deviceId(number))
}

/** The response of the broker to a read that finds something; that it finds nothing is thrown, with what was looked for. */
export async function responseOf(url: string, request: Request, what: string): Promise<string> {
  const response = await askOnce(url, request)
  const refusal = refusalIn(response)
  if (refusal !== undefined) throw new Error(`${what} can not be read: ${refusal}`)
  return response
}

/** One request on a connection of its own. Any HTTP status but 200 is thrown. */
export async function askOnce(url: string, request: Request): Promise<string> {
  const connection = new Connection(addressOf(url), 60_000)
  try {
    return await requested(connection, url, request)
  } finally {
    connection.close()
  }
}

/** Requests are written when their turn comes: those of a million devices would not fit into memory at once. */
async function forGroups(
  url: string,
  count: number,
  write: (numbers: readonly number[]) => Request,
  done: (numbers: readonly number[]) => void = () => {},
  { writers = connections, perRequest = devicesPerRequest }: Pace = {},
): Promise<void> {
  const left = groupsOf(count, perRequest)
  await Promise.all(
    Array.from({ length: writers }, async () => {
      const connection = new Connection(addressOf(url), 60_000)
      try {
        for (const numbers of left) {
          const refusal = refusalIn(await requested(connection, url, write(numbers)))
          if (refusal !== undefined) throw new Error(`the broker refuses to be prepared: ${refusal}`)
          done(numbers)
        }
      } finally {
        connection.close()
      }
    }),
  )
}

async function requested(connection: Connection, url: string, request: Request): Promise<string> {
  const { status, text } = await connection.ask(written(request, addressOf(url)))
  if (status === 200) return text
  throw new Error(`${request.verb} ${request.path}: HTTP ${status} ${text.slice(0, 200)}`)
}

/** The numbers 0 to `count` - 1 in groups of one size; the last group has what is left. */
export function* groupsOf(count: number, size: number): Generator<readonly number[]> {
  for (let first = 0; first < count; first += size) {
    yield Array.from({ length: Math.min(size, count - first) }, (_, sequence) => first + sequence)
  }
}
