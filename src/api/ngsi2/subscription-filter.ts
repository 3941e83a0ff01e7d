import type { SubscriptionFilter } from '../../broker/front-end/broker.js'
import type { EntityId, EntityType } from '../../model/context/entity.js'
import { err, ok, type Result } from '../../result.js'
import { listOf } from './parameters.js'
import { identifierMistake } from './parse/tree.js'

const statuses = ['active', 'inactive', 'oneshot', 'expired'] as const

/** The filter in the parameters of `GET /v2/subscriptions`, undefined without one; refuses the first wrong value with its text. */
export function filterOf(parameters: ReadonlyMap<string, string>): Result<SubscriptionFilter | undefined, string> {
  const [url, entity, type] = [parameters.get('url'), parameters.get('entity'), parameters.get('type')]
  const names = listOf(parameters, 'attrs')
  const given = parameters.get('status')
  const mistake =
    (entity !== undefined && identifierMistake('entity id', entity)) ||
    (type !== undefined && identifierMistake('entity type', type)) ||
    names.map((name) => identifierMistake('attribute name', name)).find((each) => each !== undefined)
  if (mistake) return err(mistake)
  const status = statuses.find((each) => each === given)
  if (given !== undefined && status === undefined) {
    return err(`Bad subscription status: /${given}/ [must be one of ${statuses.join(', ')}]`)
  }
  if (url === undefined && entity === undefined && type === undefined && names.length === 0 && status === undefined) {
    return ok(undefined)
  }
  const attributes = names.length > 0 ? names : undefined
  return ok({ url, entity: entity as EntityId | undefined, type: type as EntityType | undefined, attributes, status })
}
