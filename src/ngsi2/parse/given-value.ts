import type { ApiResponse } from '../../api.js'
import { hasForbidden } from '../../context/characters.js'
import type { Value } from '../../context/entity.js'
import { isOperator, mayStandTogether } from '../../context/operators.js'
import { maxValueLevels, objectOf } from '../../json-reader.js'
import { err, ok, type Result } from '../../result.js'
import type { Steps } from '../../slices.js'
import { badInput } from '../ngsi2-errors.js'
import { isTreeArray, type Tree, type TreeObject, tooDeep } from './payload-tree.js'

/** A value as a payload gives it. */
export interface GivenValue {
  readonly value: Value
  /** Whether one of its texts has characters that only unrestricted text may have; keys do not count [NGSIv2 context 4.1]. */
  readonly isForbidden: boolean
}

/** Parts that are read before somebody may look at the clock. */
const partsAtOnce = 256

/** A value that has no parts, which nothing can be wrong with; nothing for every other one. */
export function scalarGiven(tree: Tree): Result<GivenValue, never> | undefined {
  if (typeof tree === 'string') return ok({ value: tree, isForbidden: hasForbidden(tree) })
  return typeof tree === 'object' && tree !== null ? undefined : ok({ value: tree, isForbidden: false })
}

/** Whether what was read has a value with parts, which may be many. */
export function hasParts({ value }: { readonly value?: Value | undefined }): boolean {
  return typeof value === 'object' && value !== null
}

/** Reads a value; refuses one that is nested too deep, and an object with a key twice [NGSIv2 context 3.1, 4.1]. */
export function* readValue(tree: Tree): Steps<Result<GivenValue, ApiResponse>> {
  const reader = new ValueReader()
  const value = yield* reader.read(tree, 0, '')
  return reader.refusal === undefined ? ok({ value, isForbidden: reader.isForbidden }) : err(reader.refusal)
}

class ValueReader {
  isForbidden = false
  refusal: ApiResponse | undefined
  #parts = 0

  #mayPause(): boolean {
    this.#parts += 1
    return this.#parts % partsAtOnce === 0
  }

  *read(tree: Tree, level: number, path: string): Steps<Value> {
    if (typeof tree === 'string') {
      this.isForbidden ||= hasForbidden(tree)
      return tree
    }
    if (typeof tree !== 'object' || tree === null) return tree
    if (level === maxValueLevels) {
      this.refusal ??= tooDeep
      return null
    }
    return isTreeArray(tree) ? yield* this.#array(tree, level, path) : yield* this.#object(tree, level, path)
  }

  *#array(tree: readonly Tree[], level: number, path: string): Steps<Value> {
    const items: Value[] = []
    for (const item of tree) {
      items.push(yield* this.read(item, level + 1, path))
      if (this.refusal) return null
      if (this.#mayPause()) yield
    }
    return items
  }

  *#object(tree: TreeObject, level: number, path: string): Steps<Value> {
    const members = new Map<string, Value>()
    for (const [key, member] of tree.members) {
      if (members.has(key)) this.refusal ??= badInput(`duplicated tag-name: /${key}/ in path: ${path}/`)
      if (this.refusal) return null
      members.set(key, yield* this.read(member, level + 1, `${path}/${key}`))
      if (this.#mayPause()) yield
    }
    return yield* objectOf(members)
  }
}

/** What is wrong with a value whose first key is an update operator: what stands beside it [NGSIv2 context 12.1]. */
export function wrongOperation(tree: Tree | undefined): ApiResponse | undefined {
  if (typeof tree !== 'object' || tree === null || isTreeArray(tree)) return undefined
  const keys = tree.members.map(([key]) => key)
  if (!isOperator(keys[0]) || mayStandTogether(keys)) return undefined
  return badInput('invalid combination of update operators')
}
