/** The characters that no text of a request may hold, unless a rule says so [context 4.1], [NGSIv2 context 4.1]. */
const forbidden = /[<>"'=;()]/

/** Those that identifiers may not hold either: anything but visible ASCII, and `& ? / #`. */
const forbiddenInIds = /[^!-~]|[&?/#]/

/** Both together. */
const notInIdentifiers = /[^!-~]|[&?/#<>"'=;()]/

const maxName_bytes = 256

/** Whether a text holds a character that is forbidden everywhere [context 4.1], [NGSIv2 context 4.1]. */
export function hasForbidden(text: string): boolean {
  return forbidden.test(text)
}

/**
 * Whether a text holds one of the further characters that identifiers may not have: those of NGSIv2 always, those of NGSIv1
 * with `-strictNgsiv1Ids` [context 4.1], [NGSIv2 context 4.1].
 */
export function hasForbiddenInId(text: string): boolean {
  return forbiddenInIds.test(text)
}

/** Whether a text holds a character that identifiers of NGSIv2 may not have [NGSIv2 context 4.1]. */
export function hasForbiddenInIdentifier(text: string): boolean {
  return notInIdentifiers.test(text)
}

/** The length in bytes of a name or type that is too long, nothing when it is not [context 4.2], [NGSIv2 context 4.1]. */
export function excessiveLength(text: string): number | undefined {
  // No character needs more than three bytes for each of its UTF-16 units.
  if (text.length * 3 <= maxName_bytes) return undefined
  const bytes = Buffer.byteLength(text)
  return bytes > maxName_bytes ? bytes : undefined
}
