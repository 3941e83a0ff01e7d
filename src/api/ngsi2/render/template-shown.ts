import type { Value } from '../../../model/context/entity.js'
import { piecesOf } from '../../../model/context/large/text-measure.js'
import { shownType } from '../../../model/context/value.js'
import type { TemplateText } from '../../../model/expression/json-template.js'

/**
 * `ngsi` of a custom notification in a shown subscription: attributes with the default types of their values as they were
 * written, metadata only if there are any, id and type only if they are not empty [NGSIv2 subscriptions 2.1]. Values are copied as
 * they are stored: to make one of 60,000 members and write it again takes ten times as long.
 */
export function ngsiShown(ngsi: TemplateText): string {
  const shown: string[] = []
  for (const { key, from, value, to } of piecesOf(ngsi)) {
    const given = ngsi.slice(value, to)
    const isName = key === 'id' || key === 'type'
    if (isName && given === '""') continue
    shown.push(`${ngsi.slice(from, value)}${isName ? given : attributeShown(given)}`)
  }
  return `{${shown.join(',')}}`
}

function attributeShown(given: string): string {
  const members = membersOf(given)
  const metadata = Array.from(membersOf(members.get('metadata')?.value), ([, { name, value }]) => {
    return `${name}:{${typedText(membersOf(value))}}`
  })
  return `{${typedText(members)}${metadata.length === 0 ? '' : `,"metadata":{${metadata.join(',')}}`}}`
}

/** The members of an attribute or metadata element that show its type and value, by its own members. */
function typedText(members: Members): string {
  const value = members.get('value')?.value ?? 'null'
  const type = members.get('type')?.value ?? ''
  const isGiven = type.startsWith('"') && type !== '""'
  return `"type":${isGiven ? type : JSON.stringify(shownType({ type: '', value: likeOf(value) }))},"value":${value}`
}

interface MemberText {
  /** The key as JSON. */
  readonly name: string
  readonly value: string
}

type Members = ReadonlyMap<string | undefined, MemberText>

/** The members of an object by its text; none of another value. */
function membersOf(text = ''): Members {
  if (!text.startsWith('{')) return new Map()
  const pieces = piecesOf(text)
  return new Map(
    pieces.map(({ key, from, value, to }) => [
      key,
      { name: text.slice(from, value - 1), value: text.slice(value, to) },
    ]),
  )
}

/** A value of the same kind as that of a text, which decides on the default type. */
function likeOf(text: string): Value {
  return text.startsWith('{') || text.startsWith('[') ? [] : JSON.parse(text)
}
