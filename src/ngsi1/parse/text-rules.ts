/** The characters that no text of NGSIv1 may hold [context 4.1]. */
const forbidden = /[<>"'=;()]/

/** Those that ids, names and types may not hold either with `-strictNgsiv1Ids`: anything but visible ASCII, and `& ? / #`. */
const forbiddenInIds = /[^!-~]|[&?/#]/

const maxName_bytes = 256

/** Whether a text holds a forbidden character [context 4.1]. */
export function hasForbidden(text: string): boolean {
  return forbidden.test(text)
}

/** Whether an id, name or type holds a character that `-strictNgsiv1Ids` forbids [context 4.1]. */
export function hasForbiddenInId(text: string): boolean {
  return forbiddenInIds.test(text)
}

/** The length in bytes of a name or type that is too long, nothing when it is not [context 4.2]. */
export function excessiveLength(text: string): number | undefined {
  // No character needs more than three bytes for each of its UTF-16 units.
  if (text.length * 3 <= maxName_bytes) return undefined
  const bytes = Buffer.byteLength(text)
  return bytes > maxName_bytes ? bytes : undefined
}
