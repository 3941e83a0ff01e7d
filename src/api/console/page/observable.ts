import { useEffect, useState } from 'preact/hooks'

/** A value with observers, which are called when it changes. */
export class Observable<Value> {
  #value: Value
  readonly #observers = new Set<() => void>()

  constructor(value: Value) {
    this.#value = value
  }

  get value(): Value {
    return this.#value
  }

  set(value: Value): void {
    if (Object.is(value, this.#value)) return
    this.#value = value
    for (const observer of [...this.#observers]) observer()
  }

  /** Calls at every change until the function that it gives is called. */
  observe(observer: () => void): () => void {
    this.#observers.add(observer)
    return () => this.#observers.delete(observer)
  }
}

/** The current value; the component is rendered again at every change. */
export function useObservable<Value>(observable: Observable<Value>): Value {
  const [, draw] = useState(0)
  const seen = observable.value
  useEffect(() => {
    const changed = () => draw((times) => times + 1)
    // It may have changed between rendering and this call.
    if (!Object.is(seen, observable.value)) changed()
    return observable.observe(changed)
  }, [observable])
  return seen
}

const readers = new Set<() => void>()
let timer: ReturnType<typeof setInterval> | undefined

/** The time in milliseconds since 1970; the component is rendered again every second. One timer serves all components. */
export function useClock(): number {
  const [now_ms, setNow] = useState(Date.now())
  useEffect(() => {
    const tick = () => setNow(Date.now())
    readers.add(tick)
    timer ??= setInterval(() => {
      for (const reader of readers) reader()
    }, 1000)
    return () => {
      readers.delete(tick)
      if (readers.size > 0) return
      clearInterval(timer)
      timer = undefined
    }
  }, [])
  return now_ms
}
