import type { QueryForward } from '../../providers/query-plan.js'
import type { UpdateForward } from '../../providers/update-plan.js'
import { renderElement, renderGiven, renderHead } from '../render/elements.js'

/** The body of a query that is passed on; without `attributes` for the whole entity [subscriptions 8.2]. */
export function queryForProvider({ entity, attributes }: QueryForward): string {
  const names = attributes.length === 0 ? '' : `,"attributes":${JSON.stringify(attributes)}`
  return `{"entities":[{${renderHead({ ...entity, isPattern: false })}}]${names}}`
}

/** The body of an update that is passed on, whose action is always UPDATE [subscriptions 8.3]. */
export function updateForProvider({ shares }: UpdateForward): string {
  const elements = shares.map(({ id, type, attributes }) =>
    renderElement({ id, type, isPattern: false }, renderGiven(attributes)),
  )
  return `{"contextElements":[${elements.join(',')}],"updateAction":"UPDATE"}`
}
