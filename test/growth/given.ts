/** A request, without the tenant in which it is sent. */
export interface Sent {
  readonly verb: string
  readonly path: string
  readonly body?: string
}

export function post(path: string, body: string): Sent {
  return { verb: 'POST', path, body }
}

/** An `updateContext` that appends these elements. */
export function adding(elements: string): Sent {
  return post('/v1/updateContext', `{"updateAction":"APPEND","contextElements":[${elements}]}`)
}

/** An element of `op/update` about the entity that has the id One. */
export function elementOfOne(name: string, value: string): string {
  return `{"id":"One","type":"T","${name}":{"value":${value}}}`
}

/** So many items of a list, joined. */
export function many(number: number, item: (at: number) => string): string {
  return numbered(number).map(item).join(',')
}

/** The numbers from 0. */
export function numbered(number: number): readonly number[] {
  return Array.from({ length: number }, (_, at) => at)
}
