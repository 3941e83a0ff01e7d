import type { Entity } from '../../model/context/entity.js'
import { locationAttribute } from '../../model/context/location.js'
import type { UpdateCommand } from '../../model/context/update.js'
import { causeContext } from '../../model/subscription/change.js'
import type { LineContext } from '../../observe/log/log.js'

/** An attribute that an update of NGSIv2 has made a location by a type that GeoJSON has replaced. */
export interface DeprecatedLocation {
  readonly name: string
  readonly type: string
  readonly context: LineContext
}

const deprecatedTypes: ReadonlySet<string> = new Set(['geo:point', 'geo:line', 'geo:box', 'geo:polygon'])

/** Adds the location of an entity after an update, if the update gave that attribute [management 3.2]. */
export function gatherDeprecated(
  { attributes: given, tenant, origin }: UpdateCommand,
  entity: Entity,
  into: DeprecatedLocation[],
): void {
  const location = locationAttribute(entity)
  if (location === undefined || !deprecatedTypes.has(location.type)) return
  const { name, type } = location
  if (!given.some((attribute) => attribute.name === name)) return
  into.push({ name, type, context: causeContext(tenant, entity.path, origin) })
}
