import type { ApiResponse } from '../../api.js'
import type { EntityId, EntityType } from '../../context/entity.js'
import type { GivenAttribute } from '../../context/update.js'
import { err, ok, type Result } from '../../result.js'
import type { Steps } from '../../slices.js'
import { badInput, refused } from '../ngsi2-errors.js'
import { type AttributeForm, AttributeGatherer } from './given-attributes.js'
import { wrongIdentifier } from './identifiers.js'
import { emptyPayload, readObject, type Tree, type TreeObject } from './payload-tree.js'

/** An entity as a payload gives it [NGSIv2 context 2.1]. */
export interface EntityGiven {
  readonly id: EntityId
  readonly type: EntityType | undefined
  readonly attributes: readonly GivenAttribute[]
}

/** Reads the payload of POST /v2/entities [NGSIv2 context 8.2, 15]. */
export function* parseEntity(body: string, form: AttributeForm): Steps<Result<EntityGiven, ApiResponse>> {
  const tree = yield* readObject(body)
  return tree.ok ? yield* readEntity(tree.value, form) : tree
}

/** Reads an entity that has to have an id [NGSIv2 context 8.2, 15]. */
export function* readEntity(tree: TreeObject, form: AttributeForm): Steps<Result<EntityGiven, ApiResponse>> {
  let id: string | undefined
  let type: string | undefined
  const gatherer = new AttributeGatherer(form)
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

/** Reads an entity of POST /v2/op/update, which says with different words what is wrong with its id [NGSIv2 context 11.1]. */
export function* readBatchEntity(tree: TreeObject, form: AttributeForm): Steps<Result<EntityGiven, ApiResponse>> {
  const [hasId, hasPattern] = [hasMember(tree, 'id'), hasMember(tree, 'idPattern')]
  if (hasId && hasPattern) return err(badInput('both /id/ and /idPattern/ present'))
  if (hasPattern) return err(refused('NotImplemented', 'NotImplemented'))
  if (!hasId) return err(badInput('nor /id/ nor /idPattern/ present'))
  const isEmpty = tree.members.some(([name, member]) => name === 'id' && member === '')
  if (isEmpty) return err(badInput('id and idPattern cannot be both empty at the same time'))
  return yield* readEntity(tree, form)
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
