import type { QueryRefusal } from '../../model/context/query.js'
import type { ForwardRefusal } from '../../threads/shared-memory/limits.js'

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
  /** What the update changes, with the notices of it, is more than the log of a cluster takes. */
  | { readonly kind: 'recordTooLarge' }
  /** In a cluster: how far the owner of what is to be read is, is not known. */
  | { readonly kind: 'notConfirmed' }
  | { readonly kind: 'queriesFull' }
  /** The query died with its thread, and again when it was repeated. */
  | { readonly kind: 'scanLost' }
  | { readonly kind: 'responsesFull' }
  | { readonly kind: 'queryLate' }
  /** The ids of a query are registered with too many types. */
  | { readonly kind: 'typesTooMany' }
  | ForwardRefusal
  | { readonly kind: 'subscriptionsFull' }
  | { readonly kind: 'patternsFull' }
  /** Too many subscriptions may be about one entity. */
  | { readonly kind: 'entityFull' }
  | { readonly kind: 'registrationsFull' }
  /** As many clients listen to subscriptions as may. */
  | { readonly kind: 'listenersFull' }
  /** In a cluster: no node is known that takes changes of subscriptions and registrations, or it is not reached. */
  | { readonly kind: 'coordinatorAway' }
  /** In a cluster: a node of it did not have the change in force in time, and it was undone. */
  | { readonly kind: 'notEverywhere' }
  /** The thread that sends notifications is being replaced, or ends. */
  | { readonly kind: 'courierAway' }
  /** Too many availability subscriptions would hear of a registration. */
  | { readonly kind: 'noticesFull' }

/** What is said of an update whose partition was lost with it. */
export const updateMayBeDone = 'partition not available: the update may have been carried out'

/** What is said of an update whose record the engine of a cluster does not take. */
export const tooMuchForCluster =
  'what the update changes, with its notifications, takes more than a record of the cluster may have: not carried out'

/** How a refusal is answered, whatever the form that an interface has for errors. */
interface UnavailableDescription {
  readonly status: 400 | 413 | 503
  readonly text: string
  readonly headers?: { readonly 'Retry-After': string }
}

/** The text of a refusal, and when it may be tried again [management 11.9]. */
export function describeUnavailable(refusal: Unavailable): UnavailableDescription {
  const { kind } = refusal
  if (isAtNoTime(kind)) {
    const [status, text] = unanswerable[kind]
    return { status, text }
  }
  const [general, retryAfter_s] = atAnotherTime[kind]
  const text = kind === 'providerFull' ? `${general} ${refusal.origin}` : general
  return { status: 503, text, headers: { 'Retry-After': String(retryAfter_s) } }
}

type AtNoTime = Exclude<QueryRefusal['kind'], 'notApplied'> | 'recordTooLarge' | 'typesTooMany'

const unanswerable: { readonly [Kind in AtNoTime]: readonly [status: 400 | 413, text: string] } = {
  recordTooLarge: [413, tooMuchForCluster],
  pageTooLarge: [
    413,
    'the results take too much memory: ask for fewer with a smaller limit or offset, or name attributes',
  ],
  queryTooCostly: [400, 'the regular expressions and filters of the query take too long for some entity: ask for less'],
  typesTooMany: [400, 'the ids of the query are registered with too many types: name the types, or fewer ids'],
}

function isAtNoTime(kind: Unavailable['kind']): kind is AtNoTime {
  return kind in unanswerable
}

type AtAnotherTime = Exclude<Unavailable['kind'], AtNoTime>

const atAnotherTime: { readonly [Kind in AtAnotherTime]: readonly [text: string, retryAfter_s: number] } = {
  partitionLost: ['partition not available', 1],
  outcomeUnknown: [updateMayBeDone, 1],
  storageFull: ['storage full', 60],
  notApplied: ['the last updates cannot be read by a query yet: storage full, or a partition is being opened', 10],
  partlyStored: ['storage full: a part of the update was carried out', 60],
  mailboxFull: ['too many updates are waiting', 1],
  notConfirmed: ['the owner of what is read does not answer', 1],
  queriesFull: ['too many queries are waiting', 1],
  scanLost: ['the thread of the query has failed', 1],
  responsesFull: ['too many large responses are being sent', 1],
  forwardsFull: ['too many requests wait for context providers', 1],
  providerFull: ['too many requests wait for context provider', 1],
  queryLate: ['the query took too long', 10],
  subscriptionsFull: ['there is no room for more subscriptions', 60],
  patternsFull: ['there is no room for more regular expressions in subscriptions', 60],
  entityFull: ['there is no room for more subscriptions to one entity', 60],
  registrationsFull: ['there is no room for more registrations', 60],
  listenersFull: ['there is no room for more clients that listen to subscriptions', 10],
  coordinatorAway: ['no node of the cluster takes changes of subscriptions and registrations at the moment', 1],
  notEverywhere: ['a node of the cluster did not take the change in time: it was undone', 1],
  courierAway: ['notifications cannot be sent at the moment', 1],
  noticesFull: ['too many availability subscriptions would be notified of so large a registration', 60],
}
