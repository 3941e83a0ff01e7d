import type { ApiResponse } from '../../api.js'
import { type JsonMembers, type JsonScalar, type JsonTree, readTree, scalarsByKind } from '../../json-reader.js'
import { err, ok, type Result } from '../../result.js'
import type { Steps } from '../../slices.js'
import { badInput, refused } from '../ngsi2-errors.js'
import { tooDeepText } from './checked.js'

/** A payload as it was read: members in their order, doubled ones included. */
export type Tree = JsonTree<JsonScalar>

export type TreeObject = JsonMembers<JsonScalar>

/** Whether a part of a payload is an array. */
export function isTreeArray(tree: Tree | undefined): tree is readonly Tree[] {
  return Array.isArray(tree)
}

/** Whether a part of a payload is an object. */
export function isTreeObject(tree: Tree | undefined): tree is TreeObject {
  return typeof tree === 'object' && tree !== null && !isTreeArray(tree)
}

/** The payload is no JSON, or not of the kind that is expected [NGSIv2 context 15]. */
export const malformedPayload = refused('ParseError', 'Errors found in incoming JSON buffer')

/** A value is nested deeper than values may be [NGSIv2 context 3.1]. */
export const tooDeep = refused('ParseError', tooDeepText)

/** Reads a payload of any kind. */
export function* readPayload(body: string): Steps<Result<Tree, ApiResponse>> {
  const tree = yield* readTree(body, scalarsByKind)
  if (tree.ok) return tree
  return err(tree.error.isTooDeep ? tooDeep : malformedPayload)
}

/** Reads a payload that is an object at the top. */
export function* readObject(body: string): Steps<Result<TreeObject, ApiResponse>> {
  const tree = yield* readPayload(body)
  if (!tree.ok) return tree
  return isTreeObject(tree.value) ? ok(tree.value) : err(malformedPayload)
}

/** A payload has a member that means nothing. */
export function unrecognized(member: string): ApiResponse {
  return badInput(`Unrecognized field in JSON payload: /${member}/`)
}

/** There is nothing in the payload. */
export const emptyPayload = badInput('empty payload')
