export function hasMacro(text: string): boolean {
  return text.includes('${')
}

/**
 * The expression of a text that is one macro and nothing else: it begins with `${`, ends with `}` and has no second `${`. The
 * expression reaches to the last character, so it may contain object literals [NGSIv2 subscriptions 6.2, 6.3].
 */
export function onlyMacro(text: string): string | undefined {
  const isOne = text.startsWith('${') && text.endsWith('}') && text.indexOf('${', 2) === -1
  return isOne ? text.slice(2, -1) : undefined
}

/** The expressions of a text's macros, in order. */
export function* macrosOf(template: string): Generator<string> {
  const whole = onlyMacro(template)
  if (whole !== undefined) {
    yield whole
    return
  }
  let end = 0
  for (let start = template.indexOf('${'); start !== -1; start = template.indexOf('${', end + 1)) {
    end = template.indexOf('}', start)
    if (end === -1) return
    yield template.slice(start + 2, end)
  }
}

/** A text without its macros. A `${` without a following `}` is not a macro; neither is any later one. */
export function withoutMacros(text: string): string {
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
