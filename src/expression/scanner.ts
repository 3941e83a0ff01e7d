/** A word or a sign of an expression. */
export type Token =
  | { readonly kind: 'number'; readonly number: number }
  | { readonly kind: 'text'; readonly text: string }
  /** Also `true`, `false`, `null` and `in`. */
  | { readonly kind: 'word'; readonly word: string }
  | { readonly kind: 'sign'; readonly sign: string }

const blank = /\s+/y
const token =
  /(\d+(?:\.\d+)?)|([\p{L}_$][\p{L}\p{N}_$]*)|'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|(&&|\|\||[=!<>]=|\/\/|[-+*/%^<>!?:.,|()[\]{}])/suy

/** The tokens of an expression; nothing when some of it is none [NGSIv2 subscriptions 6.3]. */
export function tokensOf(text: string): readonly Token[] | undefined {
  const tokens: Token[] = []
  let at = skipBlanks(text, 0)
  while (at < text.length) {
    token.lastIndex = at
    const found = token.exec(text)
    if (found === null) return undefined
    tokens.push(tokenOf(found))
    at = skipBlanks(text, token.lastIndex)
  }
  return tokens
}

function skipBlanks(text: string, at: number): number {
  blank.lastIndex = at
  return blank.test(text) ? blank.lastIndex : at
}

function tokenOf([, number, word, single, double, sign = '']: RegExpExecArray): Token {
  if (number !== undefined) return { kind: 'number', number: Number(number) }
  if (word !== undefined) return { kind: 'word', word }
  const quoted = single ?? double
  return quoted === undefined ? { kind: 'sign', sign } : { kind: 'text', text: unescaped(quoted) }
}

/** A backslash is one before anything but a quotation mark or itself, so that regular expressions can be written. */
function unescaped(quoted: string): string {
  return quoted.includes('\\') ? quoted.replace(/\\(['"\\])/g, '$1') : quoted
}
