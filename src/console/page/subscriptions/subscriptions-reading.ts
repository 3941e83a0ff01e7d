import { type Reader, readFlag, readList, readMembers, readNumber, readOptional, readText } from '../raw.js'

const anything: Reader<unknown> = (raw) => raw

const readEntity = readMembers({
  id: readOptional(readText),
  idPattern: readOptional(readText),
  type: readOptional(readText),
  typePattern: readOptional(readText),
})

const row = {
  id: readText,
  service: readOptional(readText),
  servicePath: readText,
  reference: readText,
  status: readText,
  expires: readOptional(readText),
  throttling: readOptional(readNumber),
  timesSent: readNumber,
  lastNotification: readOptional(readText),
  lastSuccess: readOptional(readText),
  lastSuccessCode: readOptional(readNumber),
  lastFailure: readOptional(readText),
  lastFailureReason: readOptional(readText),
  failsCounter: readNumber,
  queueDepth: readNumber,
  queueBytes: readNumber,
  oldestQueued: readOptional(readText),
  nextAttempt: readOptional(readText),
  discarded: readNumber,
  description: readOptional(readText),
  subject: readMembers({ entities: readList(readEntity), condition: readMembers({ attrs: readList(readText) }) }),
} as const

/** A subscription in the list. */
const readSubscriptionRow = readMembers(row)
export type SubscriptionInList = ReturnType<typeof readSubscriptionRow>

/** A page of `GET /admin/subscriptions?details=on`. */
export const readSubscriptionPage = readMembers({ count: readNumber, subscriptions: readList(readSubscriptionRow) })

/** `GET /admin/subscriptions/{id}?details=on`, with the parts that are shown as they are. */
export const readWholeSubscription = readMembers({
  ...row,
  subject: readMembers({
    entities: readList(readEntity),
    condition: anything,
  }),
  notification: anything,
  target: anything,
  interval: readOptional(readNumber),
  queue: readMembers({ state: readText, underWay: readNumber }),
  lastFailures: readList(readMembers({ at: readText, reason: readText })),
})
export type SubscriptionInFull = ReturnType<typeof readWholeSubscription>

/** `GET /admin/subscriptions/{id}/explain`. */
export const readExplanation = readMembers({
  entities: readList(
    readMembers({
      id: readText,
      type: readText,
      servicePath: readText,
      wouldNotify: readFlag,
      why: readOptional(readText),
      conditions: readList(readMembers({ condition: readText, fits: readFlag, asked: anything, held: anything })),
    }),
  ),
  more: readNumber,
})
export type ExplainedEntity = ReturnType<typeof readExplanation>['entities'][number]

/** What a subscription is about, in a line. */
export function aboutText({ subject }: Pick<SubscriptionInList, 'subject'>): string {
  const entities = subject.entities.map(({ id, idPattern, type, typePattern }) => {
    const ofId = id ?? (idPattern === undefined || idPattern === '.*' ? 'any' : `/${idPattern}/`)
    const ofType = type ?? (typePattern === undefined ? undefined : `/${typePattern}/`)
    return ofType === undefined ? ofId : `${ofId} of ${ofType}`
  })
  const [first = 'nothing', ...others] = entities
  return others.length === 0 ? first : `${first} and ${others.length} more`
}
