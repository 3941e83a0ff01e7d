import { items, member } from '../../bench/ngsi.js'
import type { FuzzRequest } from './requests.js'

/** What is wrong with a response, whatever the request was; nothing when it may be so. */
export function faultOf({ path }: FuzzRequest, status: number, text: string): string | undefined {
  if (status < 200 || status > 599) return `the status is ${status}`
  // A refusal for want of room is a response, a fault inside is none.
  if (status >= 500 && status !== 503) return `the status is ${status}`
  if (text === '') return undefined
  const json = parsed(text)
  if (json === undefined) return path.startsWith('/metrics') && status === 200 ? undefined : 'the response is no JSON'
  return path.startsWith('/v1/') || path.startsWith('/ngsi10/') || path.startsWith('/ngsi9/')
    ? shapeFault(json)
    : undefined
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Whatever has a name of NGSI has the shape that NGSI gives it, at any depth but in values. */
function shapeFault(json: unknown): string | undefined {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return 'the response is no object'
  for (const [name, value] of Object.entries(json)) {
    const fault = memberFault(name, value)
    if (fault !== undefined) return `${name}: ${fault}`
  }
  return undefined
}

function memberFault(name: string, value: unknown): string | undefined {
  switch (name) {
    case 'statusCode':
    case 'errorCode':
    case 'orionError':
    case 'subscribeError':
      return statusFault(member(value, 'errorCode') ?? value)
    case 'contextResponses':
    case 'contextRegistrationResponses':
    case 'types':
      return listFault(value, shapeFault)
    case 'contextElement':
      return elementFault(value)
    case 'attributes':
      return Array.isArray(value) ? listFault(value, attributeFault) : typeof value === 'object' ? undefined : 'no list'
    default:
      return undefined
  }
}

function statusFault(value: unknown): string | undefined {
  const [code, reason, details] = ['code', 'reasonPhrase', 'details'].map((name) => member(value, name))
  if (typeof code !== 'string' || !/^\d{3}$/.test(code)) return `the code is ${JSON.stringify(code)}`
  if (typeof reason !== 'string') return 'there is no reason'
  return details === undefined || typeof details === 'string' ? undefined : 'the details are no text'
}

function elementFault(value: unknown): string | undefined {
  if (typeof member(value, 'id') !== 'string') return 'there is no id'
  const isPattern = member(value, 'isPattern')
  if (isPattern !== 'false' && isPattern !== 'true') return `isPattern is ${JSON.stringify(isPattern)}`
  return shapeFault(value)
}

/** The names of attributes stand alone in responses about types. */
function attributeFault(value: unknown): string | undefined {
  if (typeof value === 'string') return undefined
  if (typeof member(value, 'name') !== 'string') return 'an attribute has no name'
  const metadatas = items(member(value, 'metadatas'))
  return metadatas.every((each) => typeof member(each, 'name') === 'string') ? undefined : 'metadata has no name'
}

function listFault(value: unknown, faultIn: (each: unknown) => string | undefined): string | undefined {
  if (!Array.isArray(value)) return 'no list'
  for (const each of value) {
    const fault = faultIn(each)
    if (fault !== undefined) return fault
  }
  return undefined
}
