import { type PackedWithClocks, packedWithClocks, unpackedWithClocks } from '../../model/subscription/clocks.js'
import type { Recipient } from './courier-protocol.js'

/**
 * What a courier has to know of all subscriptions, as it crosses to its thread: there may be very many, and a start waits
 * for them. Most share with others where they are sent and what they show.
 */
export interface PackedRecipients {
  readonly ids: PackedWithClocks<Recipient['id']>
  readonly kinds: Column<Recipient['kind']>
  readonly references: Column<Recipient['reference']>
  readonly attributes: Column<Recipient['attributes']>
  readonly terms: Column<Recipient['terms']>
  readonly expires: readonly Recipient['expires'][]
  readonly decisions: Column<Recipient['decisions']>
  readonly clocked: Column<Recipient['clocked']>
}

/** Each value once, and of each recipient which of them it has. */
interface Column<Value> {
  readonly values: readonly Value[]
  readonly indexes: Uint32Array
}

export function packedRecipients(recipients: readonly Recipient[]): PackedRecipients {
  const ids = recipients.map(({ id }) => id)
  return {
    ids: packedWithClocks(ids, (at) => recipients[at]?.clock),
    kinds: column(recipients.map(({ kind }) => kind)),
    references: column(recipients.map(({ reference }) => reference)),
    attributes: column(
      recipients.map(({ attributes }) => attributes),
      (names) => (names.length === 0 ? '' : JSON.stringify(names)),
    ),
    terms: column(
      recipients.map(({ terms }) => terms),
      (terms) => terms && JSON.stringify(terms),
    ),
    expires: recipients.map(({ expires }) => expires),
    decisions: column(
      recipients.map(({ decisions }) => decisions),
      (decisions) => decisions && JSON.stringify(decisions),
    ),
    clocked: column(
      recipients.map(({ clocked }) => clocked),
      (clocked) => clocked && `${clocked.throttling_ms} ${clocked.armed}`,
    ),
  }
}

/** What `packedRecipients` wrote, in order. */
export function* unpackedRecipients(packed: PackedRecipients): Generator<Recipient> {
  const { ids, kinds, references, attributes, terms, expires, decisions, clocked } = packed
  let at = 0
  for (const [id, clock] of unpackedWithClocks(ids)) {
    yield {
      id,
      kind: there(valueAt(kinds, at)),
      reference: there(valueAt(references, at)),
      attributes: there(valueAt(attributes, at)),
      terms: valueAt(terms, at),
      expires: there(expires[at]),
      decisions: valueAt(decisions, at),
      clocked: valueAt(clocked, at),
      clock,
    }
    at += 1
  }
}

function column<Value>(all: readonly Value[], keyOf: (value: Value) => unknown = (value) => value): Column<Value> {
  const known = new Map<unknown, number>()
  const values: Value[] = []
  const indexes = Uint32Array.from(all, (value) => {
    const key = keyOf(value)
    const index = known.get(key) ?? values.length
    if (index === values.length) {
      known.set(key, index)
      values.push(value)
    }
    return index
  })
  return { values, indexes }
}

function valueAt<Value>({ values, indexes }: Column<Value>, at: number): Value | undefined {
  return values[indexes[at] ?? -1]
}

function there<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new Error('a recipient is not complete')
  return value
}
