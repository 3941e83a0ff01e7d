import type { Dimension } from './dimension.js'

/**
 * Every run of the system tests grows these: the dimensions that took longest before what they grow was mended, and those of which
 * everything is read before it is refused, or parsed in one piece.
 */
export const always: ReadonlySet<string> = new Set([
  'elements of one entity, each with another attribute, in append of op/update',
  'elements of one entity in updateContext, each with other metadata',
  'elements of different entities that are there in APPEND of updateContext',
  'instances that are there in APPEND of updateContext',
  '$push of one attribute in one batch',
  '$addToSet of one attribute in one batch',
  'updates of an entity with a large object',
  'patterns with classes by property in queryContext',
  'patterns with classes by property in op/query',
  'ranges without case in idPattern',
  'length of a group that is repeated a thousand times in idPattern',
  'subscriptions with templates that hear of an entity with 5000 attributes',
  'letters that 16 expressions ${a|len} read',
  'numbers that 64 expressions ${a|arrMed} read',
  'updates that 100 long conditions are compared with',
  'length of 20 expressions of +1',
  'length of 100 conditions that 64 updates are compared with',
  'patterns in a discovery of thousands of long ids',
  'long ids in a registration that a subscription with patterns hears of',
  'ids of a subscription that hears of as many types of every id',
  'types of every id that are registered again, of which a subscription to as many ids hears',
  'elements of empty objects beside a number as the action',
  'attributes beside one that is a number',
  'attributes beyond the limit in DELETE',
  'unknown members of a body',
  'members of an object in updateContext',
  'elements in notifyContext',
  'entities in registerContext',
  'contexts in notifyContextAvailability that came one by one before',
  'copies that lose a context by notifyContextAvailability of 5000',
  'ids of queryContext that are registered',
  'equal prefixes of thousands of ids in op/query',
  'prefixes of one id each in op/query',
  'large entities of a sorted page',
  'attributes of an entity in UPDATE that 25000 contexts of another path name',
  'contexts in a registration that is made again before 100000 others of its entity',
  'ids beyond the limit of op/query, each registered with 5000 types',
  'items of one $addToSet',
  'members of a json template beyond the limit in POST of a subscription',
  'subscriptions with previous values that hear of an entity with 5000 attributes',
  'updates of a number, shown by a template, of an entity with a large object',
])

/** Of the others, one of this many, evenly over all operations. */
const share = 64

/** What every run of the system tests grows of some dimensions. */
export function shortForm(dimensions: readonly Dimension[]): readonly Dimension[] {
  return dimensions.filter(({ name }, at) => at % share === 0 || always.has(name))
}
