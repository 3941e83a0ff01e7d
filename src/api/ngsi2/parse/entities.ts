import type { ApiResponse } from '../../../broker/operations/api.js'
import { type EntityId, type EntityType, hasForbidden } from '../../../model/context/entity.js'
import { type GivenAttribute, type UpdateAction, updateActions } from '../../../model/context/update.js'
import { parseDecimal } from '../../../model/context/value.js'
import { err, ok, type Result } from '../../../result.js'
import type { Steps } from '../../../slices.js'
import { badInput, errorOf } from '../errors.js'
import {
  type AttributeForm,
  AttributeGatherer,
  type GivenValue,
  readAttribute,
  readWritten,
  wrongOperation,
} from './attributes.js'
import {
  emptyPayload,
  isTreeArray,
  isTreeObject,
  readObject,
  readPayload,
  type Tree,
  type TreeObject,
  unrecognized,
  wrongIdentifier,
} from './tree.js'

/** An entity in a payload [NGSIv2 context 2.1]. */
export interface EntityGiven {
  readonly id: EntityId
  readonly type: EntityType | undefined
  readonly attributes: readonly GivenAttribute[]
}

/** Reads the payload of POST /v2/entities [NGSIv2 context 8.2, 15]. */
export function* parseEntity(body: string, form: AttributeForm): Steps<Result<EntityGiven, ApiResponse>> {
  const tree = yield* readObject(body)
  return tree.ok ? yield* readEntity(tree.value, new AttributeGatherer(form)) : tree
}

/** Reads an entity, whose id is mandatory [NGSIv2 context 8.2, 15]. */
function* readEntity(tree: TreeObject, gatherer: AttributeGatherer): Steps<Result<EntityGiven, ApiResponse>> {
  let id: string | undefined
  let type: string | undefined
  for (const [name, member] of tree.members) {
    if (name === 'id' || name === 'type') {
      const text = identifierIn(name, member)
      if (!text.ok) return text
      if (name === 'id') id = text.value
      else type = text.value
    } else {
      const wrong = yield* gatherer.add(name, member)
      if (wrong) return err(wrong)
    }
  }
  if (id === undefined) return err(badInput('entity id length: 0, min length supported: 1'))
  return ok({ id: id as EntityId, type: type as EntityType | undefined, attributes: gatherer.attributes })
}

function identifierIn(member: 'id' | 'type', tree: Tree): Result<string, ApiResponse> {
  if (typeof tree !== 'string') return err(badInput(`Invalid JSON type for entity ${member}`))
  const wrong = wrongIdentifier(`entity ${member}`, tree)
  return wrong ? err(wrong) : ok(tree)
}

/** Reads an entity of POST /v2/op/update, where mistakes in the id have other texts [NGSIv2 context 11.1]. */
function* readBatchEntity(tree: TreeObject, gatherer: AttributeGatherer): Steps<Result<EntityGiven, ApiResponse>> {
  const [hasId, hasPattern] = [hasMember(tree, 'id'), hasMember(tree, 'idPattern')]
  if (hasId && hasPattern) return err(badInput('both /id/ and /idPattern/ present'))
  if (hasPattern) return err(errorOf('NotImplemented', 'NotImplemented'))
  if (!hasId) return err(badInput('nor /id/ nor /idPattern/ present'))
  const isEmpty = tree.members.some(([name, member]) => name === 'id' && member === '')
  if (isEmpty) return err(badInput('id and idPattern cannot be both empty at the same time'))
  return yield* readEntity(tree, gatherer)
}

function hasMember({ members }: TreeObject, name: string): boolean {
  return members.some(([key]) => key === name)
}

/** Reads the payload of POST, PATCH and PUT of the attributes of an entity [NGSIv2 context 8.5]. */
export function* parseAttributeMembers(
  body: string,
  form: AttributeForm,
): Steps<Result<readonly GivenAttribute[], ApiResponse>> {
  const tree = yield* readObject(body)
  if (!tree.ok) return tree
  const gatherer = new AttributeGatherer(form)
  for (const [name, member] of tree.value.members) {
    if (name === 'id' || name === 'type') return err(badInput(`entity ${name} specified in payload`))
    const wrong = yield* gatherer.add(name, member)
    if (wrong) return err(wrong)
  }
  return gatherer.attributes.length === 0 ? err(emptyPayload) : ok(gatherer.attributes)
}

/** Reads the payload of PUT of the attribute in the path [NGSIv2 context 9.2]. */
export function* parseOneAttribute(body: string, name: string): Steps<Result<GivenAttribute, ApiResponse>> {
  const wrong = wrongIdentifier('attribute name', name)
  if (wrong) return err(wrong)
  const tree = yield* readObject(body)
  return tree.ok ? yield* readAttribute(name, tree.value) : tree
}

/** Reads the payload of PUT of a value, as JSON or as plain text [NGSIv2 context 9.3]. */
export function* parseValueBody(body: string, isText: boolean): Steps<Result<GivenValue, ApiResponse>> {
  if (isText) return parseText(body)
  const tree = yield* readPayload(body)
  if (!tree.ok) return tree
  if (typeof tree.value !== 'object' || tree.value === null) {
    return err(badInput('Neither JSON Object nor JSON Array for attribute::value'))
  }
  const wrong = wrongOperation(tree.value)
  return wrong ? err(wrong) : yield* readWritten(tree.value)
}

function parseText(body: string): Result<GivenValue, ApiResponse> {
  if (body.startsWith('"')) {
    if (body.length === 1 || !body.endsWith('"')) return err(badInput('Missing citation-mark at end of string'))
    const value = body.slice(1, -1)
    return ok({ value, isForbidden: hasForbidden(value) })
  }
  const value = words.get(body) ?? parseDecimal(body)
  if (body !== 'null' && body !== 'Null' && body !== 'NULL' && value === undefined) {
    return err(badInput('attribute value type not recognized'))
  }
  return ok({ value: value ?? null, isForbidden: false })
}

const words: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['True', true],
  ['TRUE', true],
  ['false', false],
  ['False', false],
  ['FALSE', false],
])

/** The payload of POST /v2/op/update [NGSIv2 context 11.1]. */
interface BatchBody {
  readonly action: UpdateAction
  readonly entities: readonly EntityGiven[]
}

/** The action words of NGSIv1, in capitals. */
const oldWords: ReadonlyMap<string, UpdateAction> = new Map(updateActions.map((action) => [action, action]))

const longestWord = Math.max(...updateActions.map(({ length }) => length))

/** The action of a word: `appendStrict` as written, the words of NGSIv1 in any case. */
export function actionOf(word: Tree): UpdateAction | undefined {
  if (typeof word !== 'string') return undefined
  if (word === 'appendStrict') return 'APPEND_STRICT'
  // `\w` excludes letters of other alphabets whose capital is one of these, such as the long s.
  return word.length <= longestWord && /^\w+$/.test(word) ? oldWords.get(word.toUpperCase()) : undefined
}

const wrongAction = badInput('invalid update action type: right ones are: append, appendStric, delete, replace, update')

/** Reads the payload of POST /v2/op/update [NGSIv2 context 11.1]. */
export function* parseBatch(body: string, form: AttributeForm): Steps<Result<BatchBody, ApiResponse>> {
  const tree = yield* readObject(body)
  if (!tree.ok) return tree
  const missing = missingOf(tree.value, ['entities', 'actionType'])
  if (missing !== undefined) return err(missing)
  // The action says how entities are read, also those before it.
  const [, word = ''] = tree.value.members.findLast(([name]) => name === 'actionType') ?? []
  const action = actionOf(word)
  let entities: readonly EntityGiven[] = []
  for (const [name, member] of tree.value.members) {
    if (name === 'actionType') {
      if (actionOf(member) === undefined) return err(wrongAction)
    } else if (name === 'entities') {
      const read = yield* readEntities(member, () => new AttributeGatherer(form, action === 'DELETE'))
      if (!read.ok) return read
      entities = read.value
    } else return err(unrecognized(name))
  }
  return action === undefined ? err(wrongAction) : ok({ action, entities })
}

/** The response to the first member that the payload lacks, in the order of `names`. */
function missingOf({ members }: TreeObject, names: readonly string[]): ApiResponse | undefined {
  if (members.length === 0) return emptyPayload
  const missing = names.find((name) => !members.some(([key]) => key === name))
  if (missing === undefined) return undefined
  const beginning = missing === 'subscriptionId' ? 'invalid' : 'Invalid'
  return badInput(`${beginning} JSON payload, mandatory field /${missing}/ not found`)
}

function* readEntities(
  tree: Tree,
  gatherer: () => AttributeGatherer,
): Steps<Result<readonly EntityGiven[], ApiResponse>> {
  if (!isTreeArray(tree)) return err(badInput('not a JSON array'))
  if (tree.length === 0) return err(badInput('empty entities vector'))
  const entities: EntityGiven[] = []
  for (const item of tree) {
    if (!isTreeObject(item)) return err(badInput('entity is not a JSON object'))
    const entity = yield* readBatchEntity(item, gatherer())
    if (!entity.ok) return entity
    entities.push(entity.value)
  }
  return ok(entities)
}

/** Reads the payload of POST /v2/op/notify: the entities to append [NGSIv2 context 11.3]. */
export function* parseNotified(body: string): Steps<Result<readonly EntityGiven[], ApiResponse>> {
  const tree = yield* readObject(body)
  if (!tree.ok) return tree
  const missing = missingOf(tree.value, ['subscriptionId', 'data'])
  if (missing !== undefined) return err(missing)
  let entities: readonly EntityGiven[] = []
  for (const [name, member] of tree.value.members) {
    if (name === 'subscriptionId') {
      if (typeof member !== 'string') return err(badInput('/subscriptionId/ must be a JSON string'))
    } else if (name === 'data') {
      const read = yield* readNotifiedEntities(member)
      if (!read.ok) return read
      entities = read.value
    } else return err(unrecognized(name))
  }
  return ok(entities)
}

function* readNotifiedEntities(tree: Tree): Steps<Result<readonly EntityGiven[], ApiResponse>> {
  if (!isTreeArray(tree)) return err(badInput('notification field /data/ must be a JSON array'))
  const entities: EntityGiven[] = []
  for (const item of tree) {
    if (!isTreeObject(item)) return err(badInput('notification data vector item must be a JSON object'))
    const entity = yield* readEntity(item, new AttributeGatherer('normalized'))
    if (!entity.ok) return entity
    entities.push(entity.value)
  }
  return ok(entities)
}
