import { type EntityId, type EntityType, excessiveLength, type Metadata } from '../../../model/context/entity.js'
import { type GivenAttribute, type UpdateAction, updateActions } from '../../../model/context/update.js'
import { parseGivenId } from '../../../model/subscription/subscription.js'
import { err, ok, type Result } from '../../../result.js'
import type { Steps } from '../../../slices.js'
import type { CheckRefusal, NamedThing, PayloadRefusal } from './payload-errors.js'
import { type CompoundValue, identifier, list, parseBody, readUsual, record, text, value } from './shape.js'

/** A context element of an update as given [context 6.1]. */
export interface GivenElement {
  readonly id: EntityId
  /** Empty when none is given. */
  readonly type: EntityType
  readonly isPattern: boolean
  readonly attributes: readonly GivenAttribute[]
}

export interface UpdatePayload {
  readonly action: UpdateAction
  readonly elements: readonly GivenElement[]
}

/** The payload of POST of an entity; texts that are not given are empty [context 8.2]. */
export interface AppendPayload {
  readonly id: EntityId
  readonly type: EntityType
  readonly isPattern: boolean
  /** Whether it has one of the members `id`, `type` and `isPattern`, even an empty one. */
  readonly namesEntity: boolean
  readonly attributes: readonly GivenAttribute[]
}

/** A parsed context element, unchecked. */
interface ElementDraft {
  readonly id?: string
  readonly type?: string
  readonly isPattern?: string
  readonly attributes?: readonly AttributeDraft[]
}

const metadata = record({ name: identifier, type: identifier, value: text })

/** An array of metadata [context 2.3]. */
export const metadatas = list('metadata', metadata)

const attributeFields = { name: identifier, type: identifier, value }

/** An array of attributes [context 2.2]. */
const attributes = list('attribute', record({ ...attributeFields, metadatas }))

const elementHead = { id: identifier, type: identifier, isPattern: text, attributeDomainName: text }

const contextElement = record({ ...elementHead, attributes, domainMetadatas: metadatas })

/** In these payloads the metadata of an element, which have no effect, have another name. */
const elementWithMetadata = record({ ...elementHead, attributes, metadatas })

/** NGSIv1 shows metadata of NGSIv2 as they are: their values may be compound [NGSIv2 subscriptions 9]. */
const notifiedMetadatas = list('metadata', record({ name: identifier, type: identifier, value }))

const notifiedElement = record({
  ...elementHead,
  attributes: list('attribute', record({ ...attributeFields, metadatas: notifiedMetadatas })),
  metadatas: notifiedMetadatas,
})

/** The payload of updateContext; `strictIds` is `-strictNgsiv1Ids` here and below. */
export const updateShape = record({ contextElements: list('contextElement', contextElement), updateAction: text })

const replaceShape = record({ attributes, attributeDomainName: text })

const attributeShape = record({ type: identifier, value, metadatas })

/** The number of elements that are checked between two pauses. */
const checkedAtOnce = 256

/** Reads and checks the payload of updateContext [context 6.1, 10.3]. */
export function* parseUpdate(body: string, strictIds: boolean): Steps<Result<UpdatePayload, PayloadRefusal>> {
  const read = yield* parseBody(body, updateShape, strictIds)
  if (!read.ok) return read
  const { contextElements = [], updateAction = '' } = read.value
  if (contextElements.length === 0) return err({ kind: 'elementsMissing' })
  const elements: GivenElement[] = []
  for (const draft of contextElements) {
    const element = parseElement(draft)
    if (!element.ok) return element
    elements.push(element.value)
    if (elements.length % checkedAtOnce === 0) yield
  }
  const action = parseAction(updateAction)
  return action.ok ? ok({ action: action.value, elements }) : action
}

/** Parses a context element that `scanElements` has found, which is certainly valid. */
export function parseScannedElement(text: string): GivenElement {
  const draft = readUsual(text, contextElement)
  const element = draft && parseElement(draft)
  if (!element?.ok) throw new Error('an element of a payload without faults is refused')
  return element.value
}

/** Reads and checks an appendContextElementRequest [context 8.2]. */
export function* parseAppend(body: string, strictIds: boolean): Steps<Result<AppendPayload, PayloadRefusal>> {
  const read = yield* parseBody(body, elementWithMetadata, strictIds)
  if (!read.ok) return read
  const { id = '', type = '', isPattern = '' } = read.value
  const flag = parseIsPattern(isPattern)
  if (!flag.ok) return flag
  const given = checkAttributes(read.value.attributes)
  if (!given.ok) return given
  return ok({
    id: id as EntityId,
    type: type as EntityType,
    isPattern: flag.value,
    namesEntity: 'id' in read.value || 'type' in read.value || 'isPattern' in read.value,
    attributes: given.value,
  })
}

/** Reads and checks an updateContextElementRequest [context 8.2]. */
export function* parseAttributes(
  body: string,
  strictIds: boolean,
): Steps<Result<readonly GivenAttribute[], PayloadRefusal>> {
  const read = yield* parseBody(body, replaceShape, strictIds)
  return read.ok ? checkAttributes(read.value.attributes) : read
}

/** Reads and checks an updateContextAttributeRequest for the attribute named in the path [context 8.2]. */
export function* parseAttribute(
  body: string,
  strictIds: boolean,
  name: string,
): Steps<Result<GivenAttribute, PayloadRefusal>> {
  const read = yield* parseBody(body, attributeShape, strictIds)
  return read.ok ? checkAttribute({ ...read.value, name }) : read
}

/** The flag `isPattern`, in the spellings that clients use [context 2.1]. */
export function parseIsPattern(value: string): Result<boolean, CheckRefusal> {
  if (value === '' || value === 'false' || value === '0') return ok(false)
  return value === 'true' || value === '1' ? ok(true) : err({ kind: 'isPatternUnknown', value })
}

/** Checks one context element [context 10.3]. */
function parseElement(draft: ElementDraft, check: MetadataCheck = checkMetadata): Result<GivenElement, CheckRefusal> {
  const { id = '', type = '', isPattern = '' } = draft
  if (id === '') return err({ kind: 'idEmpty' })
  const flag = parseIsPattern(isPattern)
  if (!flag.ok) return flag
  const given = checkAttributes(draft.attributes, check)
  if (!given.ok) return given
  return ok({
    id: id as EntityId,
    type: type as EntityType,
    isPattern: flag.value,
    attributes: given.value,
  })
}

/** The action of an update, in any case [context 6.1]. */
export function parseAction(value: string): Result<UpdateAction, CheckRefusal> {
  if (value === '') return err({ kind: 'actionEmpty' })
  const capitals = value.toUpperCase()
  const action = updateActions.find((known) => known === capitals)
  return action === undefined ? err({ kind: 'actionUnknown', value }) : ok(action)
}

/** The context elements of a notification, each at its position; undefined for one that updateContext would refuse. */
export type NotifiedElements = readonly (GivenElement | undefined)[]

const notificationShape = record({
  subscriptionId: text,
  originator: text,
  contextResponses: list(
    'contextResponse',
    record({
      contextElement: notifiedElement,
      statusCode: record({ code: text, reasonPhrase: text, details: text }),
    }),
  ),
})

/** Reads and checks the payload of notifyContext, in which everything may be missing [subscriptions 4.2, 6.1]. */
export function* parseNotification(body: string, strictIds: boolean): Steps<Result<NotifiedElements, PayloadRefusal>> {
  const read = yield* parseBody(body, notificationShape, strictIds)
  if (!read.ok) return read
  const { subscriptionId = '', contextResponses = [] } = read.value
  const id = subscriptionId === '' ? ok('') : parseGivenId(subscriptionId)
  if (!id.ok) return err({ kind: 'givenIdMalformed', why: id.error })
  const elements: (GivenElement | undefined)[] = []
  for (const { contextElement = {} } of contextResponses) {
    const element = parseElement(contextElement, checkNotifiedMetadata)
    elements.push(element.ok ? element.value : undefined)
    if (elements.length % checkedAtOnce === 0) yield
  }
  return ok(elements)
}

/** A parsed attribute, unchecked. */
interface AttributeDraft {
  readonly name?: string
  readonly type?: string
  readonly value?: string | CompoundValue
  readonly metadatas?: readonly MetadataDraft[]
}

interface MetadataDraft {
  readonly name?: string
  readonly type?: string
  readonly value?: string | CompoundValue
}

/** Gives the first mistake in metadata, if any. */
type MetadataCheck = (drafts: readonly MetadataDraft[]) => CheckRefusal | undefined

/** Accepted for compatibility; neither stored nor echoed [context 2.3]. */
const reserved = new Set(['creData', 'modDate', 'dateCreated', 'dateModified'])

const none: readonly never[] = []
const noAttributes: Result<readonly GivenAttribute[], CheckRefusal> = ok(none)

/** Checks the attributes of a payload, in order [context 10.3]. */
function checkAttributes(
  drafts: readonly AttributeDraft[] | undefined,
  check: MetadataCheck = checkMetadata,
): Result<readonly GivenAttribute[], CheckRefusal> {
  if (drafts === undefined) return noAttributes
  const given: GivenAttribute[] = []
  for (const draft of drafts) {
    const attribute = checkAttribute(draft, check)
    if (!attribute.ok) return attribute
    given.push(attribute.value)
  }
  return ok(given)
}

/** Checks one attribute; its metadata ID and location become members [context 2.3]. */
function checkAttribute(
  draft: AttributeDraft,
  check: MetadataCheck = checkMetadata,
): Result<GivenAttribute, CheckRefusal> {
  const { name = '', type = '', metadatas = none } = draft
  const wrong = checkName('attribute', name, type) ?? check(metadatas)
  if (wrong) return err(wrong)
  const given = meantBy(name, type, metadatas)
  if (draft.value === undefined) return ok(given)
  if (typeof draft.value === 'string') given.value = draft.value
  else {
    const { stored, refusal } = draft.value
    if (refusal) return err(refusal)
    given.value = stored
  }
  return ok(given)
}

type Mutable<Thing> = { -readonly [Key in keyof Thing]: Thing[Key] }

/**
 * An attribute without its value. Of metadata with the same name the last is stored; the echo has all [context 2.3]. An ID or
 * location with a compound value, and a location with an empty one, come from NGSIv2, where they are ordinary [NGSIv2 context 14.3, 14.4].
 */
function meantBy(name: string, type: string, drafts: readonly MetadataDraft[]): Mutable<GivenAttribute> {
  if (drafts.length === 0) return { name, instance: '', type, metadata: none }
  const metadata: Metadata[] = []
  const overridden: Metadata[] = []
  const given: Mutable<GivenAttribute> = { name, instance: '', type, metadata }
  for (const { name = '', type = '', value: draft = '' } of drafts) {
    const value = typeof draft === 'string' ? draft : draft.stored
    if (name === 'ID' && typeof value === 'string') {
      if (given.instance !== '') overridden.push({ name, type: 'string', value: given.instance })
      given.instance = value
    } else if (name === 'location' && typeof value === 'string' && value !== '') {
      if (given.location !== undefined) overridden.push({ name, type: 'string', value: given.location })
      given.location = value
    } else if (!reserved.has(name)) metadata.push({ name, type, value })
  }
  if (overridden.length > 0) given.overridden = overridden
  return given
}

function checkName(of: NamedThing, name: string, type: string): CheckRefusal | undefined {
  if (name === '') return { kind: 'nameMissing', of }
  const long = excessiveLength(name)
  if (long !== undefined) return { kind: 'tooLong', of, part: 'name', bytes: long }
  const longType = excessiveLength(type)
  return longType === undefined ? undefined : { kind: 'tooLong', of, part: 'type', bytes: longType }
}

/** The first mistake in metadata, if any [context 10.3]. */
export function checkMetadata(drafts: readonly MetadataDraft[]): CheckRefusal | undefined {
  for (const draft of drafts) {
    const wrong = wrongIn(draft)
    if (wrong) return wrong
    if ((draft.value ?? '') === '') return { kind: 'metadataValueMissing' }
  }
  return undefined
}

/** The first mistake in the metadata of a notification, which may have empty values [subscriptions 6.1]. */
const checkNotifiedMetadata: MetadataCheck = (drafts) => {
  for (const draft of drafts) {
    const wrong = wrongIn(draft)
    if (wrong) return wrong
  }
  return undefined
}

function wrongIn({ name = '', type = '', value }: MetadataDraft): CheckRefusal | undefined {
  return checkName('metadata', name, type) ?? (typeof value === 'object' ? value.refusal : undefined)
}
