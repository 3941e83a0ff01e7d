import { addressOf, Connection } from './connection.js'
import { appendDevices, deleteDevices, deviceId, readDevice } from './device.js'
import { refusalIn } from './ngsi.js'
import { type Request, written } from './request.js'

const devicesPerRequest = 100
const connections = 8

/** Creates the devices 0 to `count` - 1, all with one reading. Nothing is measured on the way, and any refusal is thrown. */
export function createDevices(url: string, count: number, reading: string | number): Promise<void> {
  return askAll(
    url,
    groups(count).map((numbers) => appendDevices(numbers, reading)),
  )
}

/** Removes the devices 0 to `count` - 1 from a broker that others use as well. */
export function removeDevices(url: string, count: number): Promise<void> {
  return askAll(url, groups(count).map(deleteDevices))
}

/** What the broker answers to a read of this device. */
export async function deviceAnswer(url: string, number: number): Promise<string> {
  const answer = await askOnce(url, readDevice(number))
  const refusal = refusalIn(answer)
  if (refusal !== undefined) throw new Error(`${deviceId(number)} can not be read: ${refusal}`)
  return answer
}

/** One request on a connection of its own. Any HTTP status but 200 is thrown. */
export async function askOnce(url: string, request: Request): Promise<string> {
  const connection = new Connection(addressOf(url))
  try {
    return await asked(connection, url, request)
  } finally {
    connection.close()
  }
}

async function askAll(url: string, requests: readonly Request[]): Promise<void> {
  const left = requests.values()
  await Promise.all(
    Array.from({ length: connections }, async () => {
      const connection = new Connection(addressOf(url), 60_000)
      try {
        for (const request of left) {
          const refusal = refusalIn(await asked(connection, url, request))
          if (refusal !== undefined) throw new Error(`the broker refuses to be prepared: ${refusal}`)
        }
      } finally {
        connection.close()
      }
    }),
  )
}

async function asked(connection: Connection, url: string, request: Request): Promise<string> {
  const { status, text } = await connection.ask(written(request, addressOf(url)))
  if (status === 200) return text
  throw new Error(`${request.verb} ${request.path}: HTTP ${status} ${text.slice(0, 200)}`)
}

function groups(count: number): readonly (readonly number[])[] {
  return Array.from({ length: Math.ceil(count / devicesPerRequest) }, (_, group) => {
    const first = group * devicesPerRequest
    return Array.from({ length: Math.min(devicesPerRequest, count - first) }, (_, place) => first + place)
  })
}
