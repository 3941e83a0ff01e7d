/** What may stand next in a JSON text. */
type Expected = 'value' | 'firstItem' | 'key' | 'firstKey' | 'colon' | 'next' | 'nothing'

const token =
  /[ \t\r\n]*(?:("(?:[ !#-[\]-\uffff]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*")|(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)|([{}[\],:]))/y
const blanks = /[ \t\r\n]*/y

/** Where a text stops being JSON: the index of the first character that cannot stand there. `JSON.parse` says it only of some texts. */
export function jsonFaultAt(text: string): number {
  const open: ('{' | '[')[] = []
  let expected: Expected = 'value'
  for (let at = 0; ; at = token.lastIndex) {
    token.lastIndex = at
    const found = token.exec(text)
    const next: Expected | undefined = found === null ? undefined : after(expected, found, open)
    if (next === undefined) {
      blanks.lastIndex = at
      blanks.exec(text)
      return blanks.lastIndex
    }
    expected = next
  }
}

/** What is expected behind a token; nothing when it cannot stand where it does. */
function after(expected: Expected, [, text, scalar, mark]: RegExpExecArray, open: ('{' | '[')[]): Expected | undefined {
  const ofValue = open.length === 0 ? 'nothing' : 'next'
  const takesValue = expected === 'value' || expected === 'firstItem'
  if (text !== undefined && (expected === 'key' || expected === 'firstKey')) return 'colon'
  if (text !== undefined || scalar !== undefined) return takesValue ? ofValue : undefined
  const inner = open.at(-1)
  switch (mark) {
    case '{':
    case '[':
      if (!takesValue) return undefined
      open.push(mark)
      return mark === '{' ? 'firstKey' : 'firstItem'
    case ':':
      return expected === 'colon' ? 'value' : undefined
    case ',':
      return expected !== 'next' ? undefined : inner === '{' ? 'key' : 'value'
    default: {
      const first = mark === '}' ? 'firstKey' : 'firstItem'
      if (inner !== (mark === '}' ? '{' : '[') || (expected !== 'next' && expected !== first)) return undefined
      open.pop()
      return open.length === 0 ? 'nothing' : 'next'
    }
  }
}
