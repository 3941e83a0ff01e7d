import { err, ok, type Result } from '../../result.js'
import type { Steps } from '../../slices.js'
import { attributes, metadatas } from './attribute-payload.js'
import { parseGivenId } from './given-id.js'
import type { PayloadRefusal } from './payload-refusal.js'
import { identifier, list, readBody, record, text } from './shape.js'
import { checkedAtOnce, type GivenElement, parseElement } from './update-payload.js'

/** The context elements of a notification, each in its place; nothing for one that updateContext would refuse. */
export type NotifiedElements = readonly (GivenElement | undefined)[]

const contextElement = record({
  id: identifier,
  type: identifier,
  isPattern: text,
  attributes,
  attributeDomainName: text,
  metadatas,
})

const notificationShape = record({
  subscriptionId: text,
  originator: text,
  contextResponses: list(
    'contextResponse',
    record({ contextElement, statusCode: record({ code: text, reasonPhrase: text, details: text }) }),
  ),
})

/** Reads and checks the payload of notifyContext, in which everything may be missing [subscriptions 4.2, 6.1]. */
export function* parseNotification(body: string, strictIds: boolean): Steps<Result<NotifiedElements, PayloadRefusal>> {
  const read = yield* readBody(body, notificationShape, strictIds)
  if (!read.ok) return read
  const { subscriptionId = '', contextResponses = [] } = read.value
  const id = subscriptionId === '' ? ok('') : parseGivenId(subscriptionId)
  if (!id.ok) return err({ kind: 'givenIdMalformed', why: id.error })
  const elements: (GivenElement | undefined)[] = []
  for (const { contextElement = {} } of contextResponses) {
    const element = parseElement(contextElement)
    elements.push(element.ok ? element.value : undefined)
    if (elements.length % checkedAtOnce === 0) yield
  }
  return ok(elements)
}
