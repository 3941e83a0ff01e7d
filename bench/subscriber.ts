import { addressOf, Connection } from './connection.js'
import { deviceId, deviceType } from './device.js'
import { type Request, written } from './request.js'

/** What a subscription of a benchmark is about. */
export interface Meant {
  readonly id: string
  readonly isPattern: boolean
}

/** Every device, with one subscription. */
export const everyDevice: Meant = { id: '.*', isPattern: true }

/** One device. */
export function oneDevice(number: number): Meant {
  return { id: deviceId(number), isPattern: false }
}

/** The devices whose number ends so. */
export function devicesEndingWith(digits: string): Meant {
  return { id: `${digits}$`, isPattern: true }
}

const connections = 16

/** Makes subscriptions to the humidity of devices, and gives their ids in any order; any refusal is thrown. */
export async function subscribe(url: string, reference: string, meant: readonly Meant[]): Promise<readonly string[]> {
  const left = meant.values()
  const ids: string[] = []
  await Promise.all(
    Array.from({ length: connections }, async () => {
      const connection = new Connection(addressOf(url), 60_000)
      try {
        for (const one of left) {
          const { text } = await connection.ask(written(request(reference, one), addressOf(url)))
          const id = /"subscriptionId":"(\w+)"/.exec(text)?.[1]
          if (id === undefined || !text.includes('"subscribeResponse"')) {
            throw new Error(`a subscription was refused: ${text}`)
          }
          ids.push(id)
        }
      } finally {
        connection.close()
      }
    }),
  )
  return ids
}

function request(reference: string, { id, isPattern }: Meant): Request {
  const body = {
    entities: [{ id, type: deviceType, isPattern: String(isPattern) }],
    attributes: ['humidity'],
    reference,
    duration: 'P1D',
    notifyConditions: [{ type: 'ONCHANGE', condValues: ['humidity'] }],
  }
  return { verb: 'POST', path: '/v1/subscribeContext', body: JSON.stringify(body) }
}
