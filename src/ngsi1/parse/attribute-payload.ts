import { excessiveLength } from '../../context/characters.js'
import type { Metadata } from '../../context/entity.js'
import type { GivenAttribute } from '../../context/update.js'
import { err, ok, type Result } from '../../result.js'
import type { CheckRefusal, NamedThing } from './payload-refusal.js'
import { type CompoundValue, identifier, list, record, text, value } from './shape.js'

const metadata = record({ name: identifier, type: identifier, value: text })

/** A array of metadata [context 2.3]. */
export const metadatas = list('metadata', metadata)

/** A array of attributes [context 2.2]. */
export const attributes = list('attribute', record({ name: identifier, type: identifier, value, metadatas }))

/** An attribute as it was read, unchecked. */
export interface AttributeDraft {
  readonly name?: string
  readonly type?: string
  readonly value?: string | CompoundValue
  readonly metadatas?: readonly MetadataDraft[]
}

interface MetadataDraft {
  readonly name?: string
  readonly type?: string
  readonly value?: string
}

/** Accepted for compatibility; neither stored nor echoed [context 2.3]. */
const reserved = new Set(['creData', 'modDate', 'dateCreated', 'dateModified'])

const none: readonly never[] = []
const noAttributes: Result<readonly GivenAttribute[], CheckRefusal> = ok(none)

/** Checks the attributes of a payload, in order [context 10.3]. */
export function checkAttributes(
  drafts: readonly AttributeDraft[] | undefined,
): Result<readonly GivenAttribute[], CheckRefusal> {
  if (drafts === undefined) return noAttributes
  const given: GivenAttribute[] = []
  for (const draft of drafts) {
    const attribute = checkAttribute(draft)
    if (!attribute.ok) return attribute
    given.push(attribute.value)
  }
  return ok(given)
}

/** Checks one attribute; its metadata ID and location become what they mean [context 2.3]. */
export function checkAttribute(draft: AttributeDraft): Result<GivenAttribute, CheckRefusal> {
  const { name = '', type = '', metadatas = none } = draft
  const wrong = checkName('attribute', name, type) ?? checkMetadata(metadatas)
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

/** An attribute without its value. Of equal metadata the last is stored, the echo has all [context 2.3]. */
function meantBy(name: string, type: string, drafts: readonly MetadataDraft[]): Mutable<GivenAttribute> {
  if (drafts.length === 0) return { name, instance: '', type, metadata: none }
  const metadata: Metadata[] = []
  const given: Mutable<GivenAttribute> = { name, instance: '', type, metadata }
  for (const { name = '', type = '', value = '' } of drafts) {
    if (name === 'ID') given.instance = value
    else if (name === 'location') given.location = value
    else if (!reserved.has(name)) metadata.push({ name, type, value })
  }
  return given
}

function checkName(of: NamedThing, name: string, type: string): CheckRefusal | undefined {
  if (name === '') return { kind: 'nameMissing', of }
  const long = excessiveLength(name)
  if (long !== undefined) return { kind: 'tooLong', of, part: 'name', bytes: long }
  const longType = excessiveLength(type)
  return longType === undefined ? undefined : { kind: 'tooLong', of, part: 'type', bytes: longType }
}

/** What is wrong with metadata, if anything is [context 10.3]. */
export function checkMetadata(drafts: readonly MetadataDraft[]): CheckRefusal | undefined {
  for (const { name = '', type = '', value = '' } of drafts) {
    const wrong = checkName('metadata', name, type)
    if (wrong) return wrong
    if (value === '') return { kind: 'metadataValueMissing' }
  }
  return undefined
}
