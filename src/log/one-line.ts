/**
 * A text on one line: line breaks, control characters and what else some readers take for the end of a line are written
 * as escapes, so that nobody can forge a record of a log or a second line of an error [management 10.2].
 */
export function oneLine(text: string): string {
  return unsafe.test(text) ? text.replaceAll(everyUnsafe, escaped) : text
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
const unsafe = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/
const everyUnsafe = new RegExp(unsafe, 'g')

function escaped(character: string): string {
  const short = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }[character]
  return short ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
