/** What a client can cause is a value, not an exception: either what was asked for or why not. */
export type Result<Value, Refusal> = Ok<Value> | Err<Refusal>

export interface Ok<Value> {
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
