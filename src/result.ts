/** What a client can cause is a value, not an exception: either what was asked for or why not. */
export type Result<Value, Refusal> = Ok<Value> | Err<Refusal>

interface Ok<Value> {
  readonly ok: true
  readonly value: Value
}

export interface Err<Refusal> {
  readonly ok: false
  readonly error: Refusal
}

/** The outcome that carries what was asked for. */
export function ok<Value>(value: Value): Ok<Value> {
  return { ok: true, value }
}

/** The outcome that says why not. */
export function err<Refusal>(error: Refusal): Err<Refusal> {
  return { ok: false, error }
}

declare const brand: unique symbol

/** A type that is told apart from others of the same shape: an entity id is no entity type, a duration is no date. */
export type Brand<Base, Name extends string> = Base & { readonly [brand]: Name }
