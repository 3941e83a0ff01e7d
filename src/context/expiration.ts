import type { Milliseconds } from '../time.js'
import type { Entity } from './entity.js'
import { isDateType } from './typed-value.js'

/** The attribute that says when an entity expires [NGSIv2 context 3.4]. */
const expirationName = 'dateExpires'

/** Whether an attribute of this name says when its entity expires. */
export function isExpiration(name: string): boolean {
  return name === expirationName
}

/** When an entity is to be removed; nothing for one that stays, as with an expiration of null or with a text in its place [NGSIv2 context 3.4]. */
export function expirationOf({ attributes }: Pick<Entity, 'attributes'>): Milliseconds | undefined {
  for (const attribute of attributes) {
    if (attribute.name !== expirationName || !isDateType(attribute.type)) continue
    // A large value is made when it is read: no other one is.
    const { value } = attribute
    if (typeof value === 'number') return Math.round(value * 1000) as Milliseconds
  }
  return undefined
}
