import { granted, type Outcome, refused } from '../../result.js'

/** Stands where an answer must carry an id and none is known [subscriptions 1.4]. */
export const unknownId = '000000000000000000000000'

/** The id of a subscription or registration as a client gives it, in lower case; refuses with the text of [subscriptions 1.4]. */
export function parseGivenId(text: string): Outcome<string, string> {
  if (text.length !== unknownId.length) return refused('bad length - 24 chars expected')
  return /^[0-9a-fA-F]*$/.test(text) ? granted(text.toLowerCase()) : refused('invalid char in ID string')
}
