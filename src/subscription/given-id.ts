import { err, ok, type Result } from '../result.js'

/** What stands for no subscription and no registration. */
export const unknownId = '000000000000000000000000'

/** The id of a subscription or registration as a client gives it, in lower case; refuses with the text of [subscriptions 1.4]. */
export function parseGivenId(text: string): Result<string, string> {
  if (text.length !== unknownId.length) return err('bad length - 24 chars expected')
  return /^[0-9a-fA-F]*$/.test(text) ? ok(text.toLowerCase()) : err('invalid char in ID string')
}
