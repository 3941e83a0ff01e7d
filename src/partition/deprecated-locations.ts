import type { Entity } from '../context/entity.js'
import type { UpdateCommand } from '../context/update.js'
import type { LineContext } from '../log/log.js'
import { causeContext } from '../subscription/change.js'

/** An attribute that an update of NGSIv2 has made a location by a type that GeoJSON has replaced. */
export interface DeprecatedLocation {
  readonly name: string
  readonly type: string
  readonly context: LineContext
}

const deprecatedTypes: ReadonlySet<string> = new Set(['geo:point', 'geo:line', 'geo:box', 'geo:polygon'])

/** Adds those of the attributes that an update gives, by what it has left its entity as [management 3.2]. */
export function gatherDeprecated(
  { attributes: given, tenant, origin }: UpdateCommand,
  { attributes, path }: Entity,
  into: DeprecatedLocation[],
): void {
  for (const { name, type, isLocation } of attributes) {
    if (!isLocation || !deprecatedTypes.has(type) || !given.some((attribute) => attribute.name === name)) continue
    into.push({ name, type, context: causeContext(tenant, path, origin) })
  }
}
