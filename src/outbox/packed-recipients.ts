import { type PackedWithClocks, packedWithClocks, unpackedWithClocks } from '../subscription/packed-clocks.js'
import type { Recipient } from './message.js'

/** What a courier has to know of all subscriptions, as it crosses to its thread. */
export type PackedRecipients = PackedWithClocks<RecipientVector>

/** Without the names of members: there may be very many of them, and a start waits for them. */
type RecipientVector = readonly [
  id: Recipient['id'],
  kind: Recipient['kind'],
  reference: string,
  attributes: readonly string[],
  expires: Recipient['expires'],
]

export function packedRecipients(recipients: readonly Recipient[]): PackedRecipients {
  const vectors = recipients.map(
    ({ id, kind, reference, attributes, expires }): RecipientVector => [id, kind, reference, attributes, expires],
  )
  return packedWithClocks(vectors, (at) => recipients[at]?.clock)
}

/** What `packedRecipients` wrote, in order. */
export function* unpackedRecipients(packed: PackedRecipients): Generator<Recipient> {
  for (const [[id, kind, reference, attributes, expires], clock] of unpackedWithClocks(packed)) {
    yield { id, kind, reference, attributes, expires, clock }
  }
}
