import { items, member } from './ngsi.js'
import { anyDevice, deviceDigits, fresh, type Request } from './request.js'

const attributes = [
  { name: 'humidity', type: 'percent' },
  { name: 'pressure', type: 'hectopascal' },
  { name: 'temperature', type: 'celsius' },
] as const

export const deviceType = 'BenchDevice'

const idStart = 'bench-device-'

/** The entity that benchmarks write: three attributes, each with metadata, which is what most devices send. */
export function deviceId(number: number): string {
  return `${idStart}${deviceDigits(number)}`
}

/** What devices read: all the same, or each what its number says. */
type Reading = string | number | ((number: number) => string | number)

/** The last three digits of a device's number: one in a thousand has the same. */
export function numbered(number: number): number {
  return number % 1000
}

/**
 * Creates devices. `accuracy` is said only here: an update says nothing about it and must not lose it [context 2.6].
 */
export function appendDevices(numbers: readonly number[], reading: Reading): Request {
  return updateContext(
    'APPEND',
    numbers.map((number) => element(deviceId(number), heldAttributes(readingOfNumber(reading, number)))),
  )
}

/** Creates devices with a location each, on a grid of 0.01° with 100 places in each direction. */
export function appendPlacedDevices(numbers: readonly number[], reading: Reading): Request {
  return updateContext(
    'APPEND',
    numbers.map((number) => {
      const metadatas = [{ name: 'location', type: 'string', value: 'WGS84' }]
      const value = `${40 + (number % 100) / 100}, ${10 + (Math.floor(number / 100) % 100) / 100}`
      const position = { name: 'position', type: 'coords', value, metadatas }
      return element(deviceId(number), [...heldAttributes(readingOfNumber(reading, number)), position])
    }),
  )
}

function readingOfNumber(reading: Reading, number: number): string | number {
  return typeof reading === 'function' ? reading(number) : reading
}

/** A fresh reading of each of this many devices, one in a request. */
export function updatesOf(devices: number): readonly Request[] {
  return Array.from({ length: devices }, (_, number) => updateDevice(number, fresh))
}

/** One reading of one device: every attribute takes it as value, and as the value of a metadata element. */
export function updateDevice(number: number, reading: string | number): Request {
  return updateDevices([number], reading)
}

/** One reading of each of these devices. */
export function updateDevices(numbers: readonly number[], reading: string | number): Request {
  return updateContext(
    'UPDATE',
    numbers.map((number) => element(deviceId(number), givenAttributes(reading))),
  )
}

/** A fresh reading of another of this many devices each time: of more than a load could hold a request for each. */
export function updateAnyDevice(devices: number): Request {
  return { ...updateContext('UPDATE', [element(`${idStart}${anyDevice}`, givenAttributes(fresh))]), devices }
}

/** A reading of one attribute with one metadata element: the least that a device sends. */
export function updateReading(number: number, reading: string | number): Request {
  const [{ name, type: unit }] = attributes
  const metadatas = [{ name: 'unit', type: 'text', value: unit }]
  const attribute = { name, type: unit, value: String(reading), metadatas }
  return updateContext('UPDATE', [element(deviceId(number), [attribute])])
}

export function deleteDevices(numbers: readonly number[]): Request {
  return updateContext(
    'DELETE',
    numbers.map((number) => ({ id: deviceId(number), type: deviceType, isPattern: 'false' })),
  )
}

export function readDevice(number: number): Request {
  return { verb: 'GET', path: `/v1/contextEntities/${deviceId(number)}` }
}

/**
 * The reading that a device has by the answer to `readDevice`, or a sentence on what is wrong with it: something is
 * missing, or its parts come from different updates.
 */
export function readingOf(body: string): { readonly reading: string } | { readonly wrong: string } {
  const held = items(member(member(JSON.parse(body), 'contextElement'), 'attributes'))
  const readings = new Set<unknown>()
  for (const { name, type } of attributes) {
    const attribute = held.find((candidate) => member(candidate, 'name') === name)
    if (attribute === undefined || member(attribute, 'type') !== type) return { wrong: `no attribute ${name}` }
    const metadata = new Map(
      items(member(attribute, 'metadatas')).map((element) => [member(element, 'name'), member(element, 'value')]),
    )
    if (metadata.get('accuracy') !== '0.5' || metadata.get('unit') !== type) {
      return { wrong: `metadata of ${name} is not complete` }
    }
    readings.add(member(attribute, 'value')).add(metadata.get('reading'))
  }
  const [reading, ...others] = readings
  if (typeof reading === 'string' && others.length === 0) return { reading }
  return { wrong: `parts of several updates: ${[...readings].join(', ')}` }
}

interface Metadata {
  readonly name: string
  readonly type: string
  readonly value: string
}

/** An attribute of a device as requests have it. */
export interface DeviceAttribute {
  readonly name: string
  readonly type: string
  readonly value: string
  readonly metadatas: readonly Metadata[]
}

interface Element {
  readonly id: string
  readonly type: string
  readonly isPattern: 'false'
  readonly attributes: readonly DeviceAttribute[]
}

const accuracy: Metadata = { name: 'accuracy', type: 'float', value: '0.5' }

/** What a device has once it is created and has sent a reading. */
export function heldAttributes(reading: string | number): readonly DeviceAttribute[] {
  return givenAttributes(reading, [accuracy])
}

/** What a device sends with one reading. */
export function givenAttributes(reading: string | number, more: readonly Metadata[] = []): readonly DeviceAttribute[] {
  const value = String(reading)
  return attributes.map(({ name, type }) => ({
    name,
    type,
    value,
    metadatas: [{ name: 'unit', type: 'text', value: type }, { name: 'reading', type: 'number', value }, ...more],
  }))
}

function element(id: string, attributes: readonly DeviceAttribute[]): Element {
  return { id, type: deviceType, isPattern: 'false', attributes }
}

function updateContext(updateAction: string, contextElements: readonly object[]): Request {
  return { verb: 'POST', path: '/v1/updateContext', body: JSON.stringify({ contextElements, updateAction }) }
}
