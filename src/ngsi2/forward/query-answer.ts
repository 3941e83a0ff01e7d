import type { EntityId, EntityType, Metadata, Value } from '../../context/entity.js'
import { shownType } from '../../context/value.js'
import type { ShownAttribute, ShownEntity } from '../../providers/merge-responses.js'
import type { QueryAnswer } from '../../providers/provider-format.js'
import type { ProviderFailure, ProviderResponse } from '../../providers/provider-request.js'
import { err, ok, type Result } from '../../result.js'
import { inSlices, type Steps } from '../../slices.js'
import { readValue } from '../parse/given-value.js'
import { isTreeArray, isTreeObject, readPayload, type Tree, type TreeObject } from '../parse/payload-tree.js'

const notFound: QueryAnswer = { elements: [], details: undefined, count: 0 }

/**
 * Reads the answer of a provider to a query: normalized entities, with values, types and metadata as they are given
 * [NGSIv2 subscriptions 11.2]. It is not trusted: entities and attributes that are malformed are left out.
 */
export async function readQueryAnswer({
  status,
  totalCount,
  body,
}: ProviderResponse): Promise<Result<QueryAnswer, ProviderFailure>> {
  if (status === 404) return ok(notFound)
  if (status < 200 || status > 299) return err({ kind: 'responseRefusing', status })
  if (body.trim() === '') return err({ kind: 'responseEmpty' })
  const elements = await inSlices(readEntities(body))
  if (elements === undefined) return err({ kind: 'responseUnreadable' })
  return ok({ elements, details: undefined, count: countIn(totalCount) })
}

/** A count beyond what a number can hold is none. */
function countIn(header: string | undefined): number | undefined {
  return header !== undefined && /^\d{1,15}$/.test(header) ? Number(header) : undefined
}

function* readEntities(body: string): Steps<readonly ShownEntity[] | undefined> {
  const tree = yield* readPayload(body)
  if (!tree.ok || !isTreeArray(tree.value)) return undefined
  const entities: ShownEntity[] = []
  for (const item of tree.value) {
    const entity = isTreeObject(item) ? yield* readEntity(item) : undefined
    if (entity !== undefined) entities.push(entity)
  }
  return entities
}

/** Of members of one name the last one counts. */
function* readEntity({ members }: TreeObject): Steps<ShownEntity | undefined> {
  let [id, type] = ['', '']
  const attributes = new Map<string, ShownAttribute>()
  for (const [name, member] of members) {
    if (name === 'id') id = textOf(member)
    else if (name === 'type') type = textOf(member)
    else if (name !== '' && isTreeObject(member)) {
      const attribute = yield* readAttributeOf(name, member)
      if (attribute !== undefined) attributes.set(name, attribute)
    }
    yield
  }
  if (id === '') return undefined
  return { id: id as EntityId, type: type as EntityType, attributes: [...attributes.values()] }
}

function* readAttributeOf(name: string, tree: TreeObject): Steps<ShownAttribute | undefined> {
  const read = yield* readTyped(tree)
  if (read === undefined) return undefined
  const given = tree.members.findLast(([key]) => key === 'metadata')?.[1]
  const metadata: Metadata[] = []
  for (const [element, body] of isTreeObject(given) ? given.members : []) {
    const typed = isTreeObject(body) ? yield* readTyped(body) : undefined
    if (typed !== undefined) metadata.push({ name: element, ...typed })
    yield
  }
  return { name, instance: '', ...read, metadata, isLocation: false }
}

/** A type and a value, both of which may be missing; nothing when the value is nested too deep. */
function* readTyped({ members }: TreeObject): Steps<{ readonly type: string; readonly value: Value } | undefined> {
  const last = (name: string): Tree | undefined => members.findLast(([key]) => key === name)?.[1]
  const read = yield* readValue(last('value') ?? null)
  if (!read.ok) return undefined
  const { value } = read.value
  return { value, type: shownType({ type: textOf(last('type')), value }) }
}

function textOf(tree: Tree | undefined): string {
  return typeof tree === 'string' ? tree : ''
}
