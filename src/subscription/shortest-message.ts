import type { Value } from '../context/entity.js'
import { isArray, isObject } from '../context/value.js'
import { onlyMacro, percentDecoded } from '../expression/template.js'
import type { Template } from './terms.js'

/** How long the body of a template is at least, in bytes, whatever its macros become; 0 where it depends on the entity alone. */
export function shortestBody({ payload, json }: Template): number {
  if (typeof payload === 'string') return Buffer.byteLength(percentDecoded(withoutMacros(payload)))
  return json === undefined ? 0 : Buffer.byteLength(JSON.stringify(shortestValue(json)))
}

/** A `${` without a `}` behind it is no macro, and neither is any later one. */
function withoutMacros(text: string): string {
  let kept = ''
  let from = 0
  for (let start = text.indexOf('${'); start !== -1; start = text.indexOf('${', from)) {
    const end = text.indexOf('}', start)
    if (end === -1) break
    kept += text.slice(from, start)
    from = end + 1
  }
  return kept + text.slice(from)
}

/** A text that is one macro may become a value of one character; the names of members are not filled in. */
function shortestValue(template: Value): Value {
  if (typeof template === 'string') return onlyMacro(template) === undefined ? withoutMacros(template) : 0
  if (isArray(template)) return template.map(shortestValue)
  if (!isObject(template)) return template
  return Object.fromEntries(Object.entries(template).map(([name, member]) => [name, shortestValue(member)]))
}
