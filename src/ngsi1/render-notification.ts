import type { NoticeWording } from '../subscription/notice.js'
import { renderFound } from './render.js'

const vector = { asObject: false }

/**
 * The body of a notification: what a query would show of the entities [subscriptions 4.2]. An entity without attributes
 * can only be here if no attributes are named; then it is shown without any, as a query does [subscriptions 3.5].
 */
export const wordNotice: NoticeWording = ({ id, attributes }, entities) =>
  `{"subscriptionId":"${id}","originator":"localhost",${renderFound(entities, attributes, vector)}}`
