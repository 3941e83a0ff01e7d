import type { Value } from '../../context/entity.js'
import { isObject, shownType } from '../../context/value.js'
import type { Template } from '../../subscription/terms.js'

type Ngsi = NonNullable<Template['ngsi']>

/**
 * `ngsi` of a custom notification as a subscription shows it: attributes with the default types of their values as they were
 * written, metadata only where there are any, id and type only if they are not empty [NGSIv2 subscriptions 2.1].
 */
export function ngsiShown(ngsi: Ngsi): Ngsi {
  const entries = Object.entries(ngsi).flatMap(([name, given]): readonly (readonly [string, Value])[] => {
    if (name === 'id' || name === 'type') return given === '' ? [] : [[name, given]]
    return [[name, attributeShown(given)]]
  })
  return Object.fromEntries(entries)
}

function attributeShown(given: Value): Value {
  const metadata = valueMember(given, 'metadata')
  if (metadata === undefined || !isObject(metadata) || Object.keys(metadata).length === 0) return typedMember(given)
  const elements = Object.entries(metadata).map(([name, element]) => [name, typedMember(element)] as const)
  return { ...typedMember(given), metadata: Object.fromEntries(elements) }
}

/** The value of an attribute or of metadata in a template, null without one, with the type given or that of its kind. */
export function typedMember(given: Value): { readonly type: string; readonly value: Value } {
  const type = valueMember(given, 'type')
  const value = valueMember(given, 'value') ?? null
  return { type: shownType({ type: typeof type === 'string' ? type : '', value }), value }
}

/** A member of an object; nothing of what is none. */
export function valueMember(value: Value | undefined, name: string): Value | undefined {
  return value !== undefined && isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
}
