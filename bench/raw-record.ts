import type { Entity, EntityId, EntityType, ServicePath } from '../src/model/context/entity.js'
import { encodeEntity } from '../src/storage/records/record.js'
import type { Sequence } from '../src/threads/shared-memory/sequences.js'
import type { Milliseconds } from '../src/time.js'
import { deviceId, deviceType, heldAttributes } from './device.js'

/** As long as those that the broker makes up. */
const anyCorrelator = '00000000-0000-4000-8000-000000000000'

/** What the broker stores for a device. */
export function rawRecord(number: number, reading: number, date: Milliseconds, correlator = anyCorrelator): string {
  const dates = { created: date, modified: date }
  const entity: Entity = {
    id: deviceId(number) as EntityId,
    type: deviceType as EntityType,
    path: '/' as ServicePath,
    sequence: (number + 1) as Sequence,
    ...dates,
    correlator,
    attributes: heldAttributes(reading).map(({ metadatas, ...attribute }) => ({
      ...attribute,
      instance: '',
      isLocation: false,
      metadata: metadatas.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
      ...dates,
    })),
  }
  return encodeEntity(entity)
}
