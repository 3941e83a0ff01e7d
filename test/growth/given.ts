/** A request, without the tenant in which it is sent. */
export interface Sent {
  readonly verb: string
  readonly path: string
  readonly body?: string
  /** Beside those of the tenant and the body; a type that is given here is the body's. */
  readonly headers?: Readonly<Record<string, string>>
}

/** Stands in a path or body for the id of the last subscription or registration that was made for the request. */
export const madeId = '<id>'

/** What a body may have beside its list: 1 MiB is the most, of which each generator writes less than this around it. */
const room_bytes = 2 ** 20 - 2048

export function post(path: string, body: string): Sent {
  return { verb: 'POST', path, body }
}

export function put(path: string, body: string): Sent {
  return { verb: 'PUT', path, body }
}

export function patch(path: string, body: string): Sent {
  return { verb: 'PATCH', path, body }
}

export function get(path: string): Sent {
  return { verb: 'GET', path }
}

/** An `updateContext` with these elements. */
export function updating(action: string, elements: string): Sent {
  return post('/v1/updateContext', `{"updateAction":"${action}","contextElements":[${elements}]}`)
}

/** An `updateContext` that appends these elements. */
export function adding(elements: string): Sent {
  return updating('APPEND', elements)
}

/** An `op/update` with these entities. */
export function batch(action: string, entities: string): Sent {
  return post('/v2/op/update', `{"actionType":"${action}","entities":[${entities}]}`)
}

/** An attribute of NGSIv1. */
export function attribute(name: string, value = '"1"', metadatas = ''): string {
  return `{"name":"${name}","value":${value}${metadatas === '' ? '' : `,"metadatas":[${metadatas}]`}}`
}

/** The context element of the entity that has the id One. */
export function ofOne(attributes: string): string {
  return `{"id":"One","type":"T","attributes":[${attributes}]}`
}

/** An element of `op/update` about the entity that has the id One. */
export function elementOfOne(name: string, value: string): string {
  return `{"id":"One","type":"T","${name}":{"value":${value}}}`
}

/** So many items of a list, joined. */
export function many(number: number, item: (at: number) => string, separator = ','): string {
  return numbered(number).map(item).join(separator)
}

/** The numbers from 0. */
export function numbered(number: number): readonly number[] {
  return Array.from({ length: number }, (_, at) => at)
}

/** A number as short as may be. */
export function short(at: number): string {
  return at.toString(36)
}

/** How many items of a list a body holds, at most `limit`. */
export function fitting(item: (at: number) => string, limit = 100_000): number {
  return Math.min(limit, Math.floor(room_bytes / (Buffer.byteLength(item(limit - 1)) + 1)))
}

/** A corner of a large polygon, as NGSIv1 writes it. */
export function vertex(at: number): string {
  return `{"latitude":"${(40 + Math.sin(at / 1600)).toFixed(6)}","longitude":"${(3 + Math.cos(at / 1600)).toFixed(6)}"}`
}

/** The same corner, as NGSIv2 writes it. */
export function point(at: number): string {
  return `${(40 + Math.sin(at / 1600)).toFixed(6)},${(3 + Math.cos(at / 1600)).toFixed(6)}`
}

/** The condition of a subscription to changes of some attributes. */
export function condition(number: number): string {
  return `{"type":"ONCHANGE","condValues":[${many(number, (at) => `"${short(at)}"`)}]}`
}
