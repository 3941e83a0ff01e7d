import type { StatusText } from '../../api.js'
import type { Metadata, Value } from '../../context/entity.js'
import type { GivenAttribute } from '../../context/update.js'
import type { ShownAttribute, ShownEntity } from '../../providers/merge-responses.js'
import type { QueryForward } from '../../providers/query-plan.js'
import type { UpdateForward } from '../../providers/update-plan.js'
import { inSlices, Slices } from '../../slices.js'
import { isJsonArray, type Json, type JsonObject, readJson } from '../parse/json.js'
import { storedValue } from '../parse/shape.js'
import { renderElement, renderGiven, renderHead } from '../render/elements.js'
import { isOk, okStatus } from '../render/status.js'

/** The body of a query that is passed on; without `attributes` for the whole entity [subscriptions 8.2]. */
export function queryForProvider({ entity, attributes }: QueryForward): string {
  const names = attributes.length === 0 ? '' : `,"attributes":${JSON.stringify(attributes)}`
  return `{"entities":[{${renderHead({ ...entity, isPattern: entity.everyId === true })}}]${names}}`
}

/** The body of an update that is passed on, whose action is always UPDATE [subscriptions 8.3]. */
export function updateForProvider({ shares }: UpdateForward): string {
  const elements = shares.map(({ id, type, attributes }) =>
    renderElement({ id, type, isPattern: false }, renderGiven(attributes)),
  )
  return `{"contextElements":[${elements.join(',')}],"updateAction":"UPDATE"}`
}

/**
 * What providers answer. They are not trusted: whatever is malformed is skipped, as long as the response as a
 * whole has one of the members that answers of NGSIv1 have.
 */

/** What a provider answered to a query. */
export interface QueryAnswer {
  readonly elements: readonly ShownEntity[]
  /** What it says when it found nothing. */
  readonly details: string | undefined
}

/** What a provider answered to an update. */
export interface UpdateAnswer {
  readonly elements: readonly AnsweredElement[]
  /** What it says of the whole. */
  readonly status: StatusText | undefined
}

export interface AnsweredElement {
  readonly id: string
  readonly type: string
  /** Without values, which mean nothing here. */
  readonly attributes: readonly GivenAttribute[]
  readonly status: StatusText
}

/** Reads the response to a query; nothing when it is no NGSI. Elements with another status than 200 are left out [subscriptions 8.2]. */
export async function readQueryAnswer(body: string): Promise<QueryAnswer | undefined> {
  const answer = await readAnswer(body)
  if (answer === undefined) return undefined
  const found = answer.elements.filter(({ status }) => isOk(status))
  const refusal = answer.status ?? answer.elements.find(({ status }) => !isOk(status))?.status
  return { elements: found.map(({ entity }) => entity), details: refusal?.details }
}

/** Reads the response to an update; nothing when it is no NGSI [subscriptions 8.3]. */
export async function readUpdateAnswer(body: string): Promise<UpdateAnswer | undefined> {
  const answer = await readAnswer(body)
  if (answer === undefined) return undefined
  const elements = answer.elements.map(({ entity: { id, type, attributes }, status }) => ({
    ...{ id, type, status },
    attributes: attributes.map(({ name, instance, type, metadata }) => ({ name, instance, type, metadata })),
  }))
  return { elements, status: answer.status }
}

interface ReadAnswer {
  readonly elements: readonly AnsweredEntity[]
  readonly status: StatusText | undefined
}

interface AnsweredEntity {
  readonly entity: ShownEntity
  readonly status: StatusText
}

/** A response may be long, so others have their turn while it is read. */
async function readAnswer(body: string): Promise<ReadAnswer | undefined> {
  const slices = new Slices()
  const json = await inSlices(readJson(body), slices)
  const whole = json.ok ? objectOf(json.value) : undefined
  if (whole === undefined) return undefined
  const responses = memberOf(whole, 'contextResponses')
  const errorCode = objectOf(memberOf(whole, 'errorCode'))
  if (errorCode === undefined && (responses === undefined || !isJsonArray(responses))) return undefined
  const elements: AnsweredEntity[] = []
  for (const item of itemsOf(responses)) {
    const entity = await entityOf(memberOf(item, 'contextElement'), slices)
    if (entity !== undefined) elements.push({ entity, status: statusIn(objectOf(memberOf(item, 'statusCode'))) })
  }
  return { elements, status: errorCode && statusIn(errorCode) }
}

async function entityOf(json: Json | undefined, slices: Slices): Promise<ShownEntity | undefined> {
  const element = objectOf(json)
  const id = element && textOf(element, 'id')
  if (element === undefined || id === undefined || id === '') return undefined
  const attributes: ShownAttribute[] = []
  for (const item of itemsOf(memberOf(element, 'attributes'))) {
    if (slices.isOver) await slices.next()
    attributes.push(...attributeOf(item))
  }
  return { id, type: textOf(element, 'type'), attributes }
}

/** Metadata ID tells instances apart; all others stay as they came, location among them. */
function attributeOf(json: JsonObject): readonly ShownAttribute[] {
  const name = textOf(json, 'name')
  if (name === '') return []
  const given = itemsOf(memberOf(json, 'metadatas')).flatMap(metadataOf)
  const instance = given.findLast((one) => one.name === 'ID')?.value ?? ''
  const isInstance = typeof instance === 'string'
  const metadata = isInstance ? given.filter((one) => one.name !== 'ID') : given
  const value = valueIn(memberOf(json, 'value'))
  const type = textOf(json, 'type')
  return [{ name, type, value, metadata, instance: isInstance ? instance : '', isLocation: false }]
}

function metadataOf(json: JsonObject): readonly Metadata[] {
  const name = textOf(json, 'name')
  return name === '' ? [] : [{ name, type: textOf(json, 'type'), value: valueIn(memberOf(json, 'value')) }]
}

function valueIn(json: Json | undefined): Value {
  return json === undefined ? '' : storedValue(json)
}

/** One that is not given is that of success. */
function statusIn(json: JsonObject | undefined): StatusText {
  const code = json && textOf(json, 'code')
  if (json === undefined || code === undefined || code === '' || code === okStatus.code) return okStatus
  const details = textOf(json, 'details')
  const status = { code, reasonPhrase: textOf(json, 'reasonPhrase') }
  return details === '' ? status : { ...status, details }
}

function objectOf(json: Json | undefined): JsonObject | undefined {
  return json === undefined || typeof json === 'string' || isJsonArray(json) ? undefined : json
}

function itemsOf(json: Json | undefined): readonly JsonObject[] {
  if (json === undefined || !isJsonArray(json)) return []
  return json.flatMap((item) => objectOf(item) ?? [])
}

/** Of equal members the last one counts. */
function memberOf(json: JsonObject, name: string): Json | undefined {
  return json.members.findLast(([key]) => key === name)?.[1]
}

function textOf(json: JsonObject, name: string): string {
  const member = memberOf(json, name)
  return typeof member === 'string' ? member : ''
}
