import { deviceId, deviceType } from './device.js'
import type { Request } from './request.js'

/** Which devices a query is for. */
export interface Selection {
  readonly entity: { readonly id: string; readonly type?: string; readonly isPattern: 'true' | 'false' }
  readonly area?: object
}

/** What a page holds when a request does not say. */
export const pageSize = 20

export const byType: Selection = { entity: { id: '.*', type: deviceType, isPattern: 'true' } }

/** An expression that every device matches. */
export const byPattern: Selection = { entity: { id: '^bench-[a-z]+-[0-9]+$', isPattern: 'true' } }

/** An expression that one device in a thousand matches. */
export const byRarePattern: Selection = { entity: { id: '[0-9]000$', isPattern: 'true' } }

/** A circle around all places of devices. */
export const byArea: Selection = within({
  circle: { centerLatitude: '40.5', centerLongitude: '10.5', radius: '200000' },
})

/** A strip with one place in a hundred. */
export const byNarrowArea: Selection = within({
  polygon: {
    vertices: [
      { latitude: '39.995', longitude: '9.9' },
      { latitude: '39.995', longitude: '11.1' },
      { latitude: '40.005', longitude: '11.1' },
      { latitude: '40.005', longitude: '9.9' },
    ],
  },
})

/** A strip with five places in ten thousand. */
export const bySmallArea: Selection = within({
  polygon: {
    vertices: [
      { latitude: '39.995', longitude: '9.995' },
      { latitude: '39.995', longitude: '10.045' },
      { latitude: '40.005', longitude: '10.045' },
      { latitude: '40.005', longitude: '9.995' },
    ],
  },
})

/** What the ids of ten devices begin with. */
export const byPrefix: Selection = { entity: { id: `^${deviceId(0).slice(0, -1)}`, isPattern: 'true' } }

/** An expression that only this device matches: if it is the last one, all have to be looked at. */
export function scanFor(number: number): Selection {
  return { entity: { id: `${deviceId(number).replace(/^\w+/, '')}$`, isPattern: 'true' } }
}

/** A page of what is selected, from this offset on. */
export function page({ entity, area }: Selection, offset: number): Request {
  const restriction = area === undefined ? {} : { restriction: { scopes: [{ type: 'FIWARE::Location', value: area }] } }
  const body = JSON.stringify({ entities: [entity], ...restriction })
  return { verb: 'POST', path: `/v1/queryContext?limit=${pageSize}&offset=${offset}`, body }
}

function within(area: object): Selection {
  return { entity: { id: '.*', isPattern: 'true' }, area }
}
