import type { QueryRefusal } from '../context/query.js'
import type { ForwardRefusal } from '../shared-memory/forward-limit.js'

/**
 * Why the broker does not do what is asked: why not now, which every API answers with 503 [management 11.9], or why it
 * cannot be done as it is asked.
 */
export type Unavailable =
  | QueryRefusal
  | { readonly kind: 'mailboxFull' }
  | { readonly kind: 'partitionLost' }
  /** The update was sent to its partition, which was lost: it may have been carried out. */
  | { readonly kind: 'outcomeUnknown' }
  /** A part of the update was carried out, and there is no room for the rest. */
  | { readonly kind: 'partlyStored' }
  | { readonly kind: 'storageFull' }
  | { readonly kind: 'queriesFull' }
  /** The query died with its thread, and again when it was repeated. */
  | { readonly kind: 'scanLost' }
  | { readonly kind: 'answersFull' }
  | { readonly kind: 'queryLate' }
  | ForwardRefusal
  | { readonly kind: 'subscriptionsFull' }
  | { readonly kind: 'patternsFull' }
  /** Too many subscriptions may be about one entity. */
  | { readonly kind: 'entityFull' }
  | { readonly kind: 'registrationsFull' }
  /** Too many availability subscriptions would hear of a registration. */
  | { readonly kind: 'noticesFull' }
