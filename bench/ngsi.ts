/** A member of a JSON object, or nothing when the value is no object or has no such member. */
export function member(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
}

/** The items of a JSON array; none when the value is no array. */
export function items(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/**
 * Why an NGSIv1 answer is not a full success, or nothing when it is one: the HTTP status is 200 either way, the
 * operation's own codes stand in the body [context 1.1, 1.2].
 */
export function refusalIn(body: string): string | undefined {
  let response: unknown
  try {
    response = JSON.parse(body)
  } catch {
    return `no JSON: ${body.slice(0, 200)}`
  }
  const statuses = ['errorCode', 'orionError', 'statusCode'].map((name) => member(response, name))
  const responses = items(member(response, 'contextResponses')).map((response) => member(response, 'statusCode'))
  const found = [...statuses, ...responses].filter((status) => status !== undefined)
  const refused = found.find((status) => member(status, 'code') !== '200')
  if (found.length > 0 && refused === undefined) return undefined
  return `${refused === undefined ? 'no status' : JSON.stringify(refused)} in ${body.slice(0, 200)}`
}
