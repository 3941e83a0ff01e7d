/** What a client can cause is a value, not an exception: either what was asked for or why not. */
export type Outcome<Value, Refusal> = Granted<Value> | Refused<Refusal>

export interface Granted<Value> {
  readonly ok: true
  readonly value: Value
}

export interface Refused<Refusal> {
  readonly ok: false
  readonly refusal: Refusal
}

/** The outcome that carries what was asked for. */
export function granted<Value>(value: Value): Granted<Value> {
  return { ok: true, value }
}

/** The outcome that says why not. */
export function refused<Refusal>(refusal: Refusal): Refused<Refusal> {
  return { ok: false, refusal }
}
