import type { ApiResponse } from '../../api.js'
import { type UpdateAction, updateActions } from '../../context/update.js'
import { err, ok, type Result } from '../../result.js'
import type { Steps } from '../../slices.js'
import { badInput } from '../ngsi2-errors.js'
import type { AttributeForm } from './given-attributes.js'
import { type EntityGiven, readBatchEntity, readEntity } from './given-entity.js'
import {
  emptyPayload,
  isTreeArray,
  isTreeObject,
  readObject,
  type Tree,
  type TreeObject,
  unrecognized,
} from './payload-tree.js'

/** The payload of POST /v2/op/update [NGSIv2 context 11.1]. */
export interface BatchBody {
  readonly action: UpdateAction
  readonly entities: readonly EntityGiven[]
}

/** The words of NGSIv1, by their letters in capitals. */
const oldWords: ReadonlyMap<string, UpdateAction> = new Map(updateActions.map((action) => [action, action]))

const longestWord = Math.max(...updateActions.map(({ length }) => length))

/** The action that a word names: `appendStrict` exactly as it stands, the words of NGSIv1 in capitals, small letters or both. */
function actionOf(word: Tree): UpdateAction | undefined {
  if (typeof word !== 'string') return undefined
  if (word === 'appendStrict') return 'APPEND_STRICT'
  // Of other alphabets there are letters whose capital is one of these, such as the long s.
  return word.length <= longestWord && /^\w+$/.test(word) ? oldWords.get(word.toUpperCase()) : undefined
}

const wrongAction = badInput('invalid update action type: right ones are: append, appendStric, delete, replace, update')

/** Reads the payload of POST /v2/op/update [NGSIv2 context 11.1]. */
export function* parseBatch(body: string, form: AttributeForm): Steps<Result<BatchBody, ApiResponse>> {
  const tree = yield* readObject(body)
  if (!tree.ok) return tree
  const missing = missingOf(tree.value, ['entities', 'actionType'])
  if (missing !== undefined) return err(missing)
  let action: UpdateAction = 'APPEND'
  let entities: readonly EntityGiven[] = []
  for (const [name, member] of tree.value.members) {
    if (name === 'actionType') {
      const named = actionOf(member)
      if (named === undefined) return err(wrongAction)
      action = named
    } else if (name === 'entities') {
      const read = yield* readEntities(member, form)
      if (!read.ok) return read
      entities = read.value
    } else return err(unrecognized(name))
  }
  return ok({ action, entities })
}

/** What is said of a payload that lacks one of its members, in this order. */
function missingOf({ members }: TreeObject, names: readonly string[]): ApiResponse | undefined {
  if (members.length === 0) return emptyPayload
  const missing = names.find((name) => !members.some(([key]) => key === name))
  if (missing === undefined) return undefined
  const beginning = missing === 'subscriptionId' ? 'invalid' : 'Invalid'
  return badInput(`${beginning} JSON payload, mandatory field /${missing}/ not found`)
}

function* readEntities(tree: Tree, form: AttributeForm): Steps<Result<readonly EntityGiven[], ApiResponse>> {
  if (!isTreeArray(tree)) return err(badInput('not a JSON array'))
  if (tree.length === 0) return err(badInput('empty entities vector'))
  const entities: EntityGiven[] = []
  for (const item of tree) {
    if (!isTreeObject(item)) return err(badInput('entity is not a JSON object'))
    const entity = yield* readBatchEntity(item, form)
    if (!entity.ok) return entity
    entities.push(entity.value)
  }
  return ok(entities)
}

/** Reads the payload of POST /v2/op/notify: the entities that are to be appended [NGSIv2 context 11.3]. */
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
    const entity = yield* readEntity(item, 'normalized')
    if (!entity.ok) return entity
    entities.push(entity.value)
  }
  return ok(entities)
}
