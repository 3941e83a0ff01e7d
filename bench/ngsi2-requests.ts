import { type DeviceAttribute, deviceId, deviceType, givenAttributes } from './device.js'
import { pageSize } from './queries.js'
import type { Request } from './request.js'

/** One reading of one device through `POST /v2/op/update`: what `updateDevice` says, to the last metadata element. */
export function updateInBatch(number: number, reading: string | number): Request {
  const entities = [{ id: deviceId(number), type: deviceType, ...members(reading) }]
  return { verb: 'POST', path: '/v2/op/update', body: JSON.stringify({ actionType: 'update', entities }) }
}

/** The same through `PATCH /v2/entities/{id}/attrs`. */
export function patchAttributes(number: number, reading: string | number): Request {
  return { verb: 'PATCH', path: `/v2/entities/${deviceId(number)}/attrs`, body: JSON.stringify(members(reading)) }
}

/** Reads one device. */
export function showEntity(number: number): Request {
  return { verb: 'GET', path: `/v2/entities/${deviceId(number)}` }
}

/** The first page of the devices that a filter lets through. */
export function listFiltered(filter: string): Request {
  return { verb: 'GET', path: `/v2/entities?type=${deviceType}&limit=${pageSize}&q=${encodeURIComponent(filter)}` }
}

/** The same through NGSIv1. */
export function queryFiltered(filter: string): Request {
  const entities = [{ id: '.*', type: deviceType, isPattern: 'true' }]
  const restriction = { scopes: [{ type: 'FIWARE::StringQuery', value: filter }] }
  const body = JSON.stringify({ entities, restriction })
  return { verb: 'POST', path: `/v1/queryContext?limit=${pageSize}`, body }
}

function members(reading: string | number): Readonly<Record<string, object>> {
  return Object.fromEntries(givenAttributes(reading).map((attribute) => [attribute.name, member(attribute)]))
}

function member({ type, value, metadatas }: DeviceAttribute): object {
  const metadata = Object.fromEntries(
    metadatas.map((element) => [element.name, { type: element.type, value: element.value }]),
  )
  return { type, value, metadata }
}
