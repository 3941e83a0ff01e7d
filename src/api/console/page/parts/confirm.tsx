import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { Observable, useObservable } from '../observable.js'
import { send, sentenceOf } from '../session.js'

/** A change that the reader has to confirm. */
interface Change {
  /** The change as a question. */
  readonly title: string
  /** The consequences, and what cannot be undone. */
  readonly cost: string
  /** The label of the button that carries it out. */
  readonly action: string
}

const pending = new Observable<(Change & { readonly decide: (agreed: boolean) => void }) | undefined>(undefined)

/** Asks for confirmation and names the consequences; resolves with the reader's decision. */
export function confirmChange(change: Change): Promise<boolean> {
  pending.value?.decide(false)
  return new Promise((resolve) => {
    pending.set({
      ...change,
      decide: (agreed) => {
        pending.set(undefined)
        resolve(agreed)
      },
    })
  })
}

/** Closes the question, if there is one: the change is not made. */
export function dismissChange(): void {
  pending.value?.decide(false)
}

/** Sends changes to the broker; `fault` is why the last one failed, and `over` is called after each. */
export function useChange(over: () => void = () => {}) {
  const [fault, setFault] = useState<string>()
  /** Resolves with whether the change was made. */
  const change = async (path: string, method: 'PUT' | 'DELETE' = 'PUT'): Promise<boolean> => {
    const refusal = await send(path, { method }).then(() => undefined, sentenceOf)
    setFault(refusal)
    over()
    return refusal === undefined
  }
  return { change, fault }
}

/** The reason why a change failed. */
export function ChangeFault({ fault }: { readonly fault: string | undefined }) {
  return fault === undefined ? null : <p class="failed">That was not done: {fault}.</p>
}

/** The dialog of the question; occurs once in the console. */
export function ConfirmDialog() {
  const change = useObservable(pending)
  const dialog = useRef<HTMLDialogElement>(null)
  // Before the first paint: a question that is visible can be answered.
  useLayoutEffect(() => {
    if (change !== undefined) dialog.current?.showModal()
    else dialog.current?.close()
  }, [change])
  return (
    <dialog
      ref={dialog}
      aria-labelledby="confirm-title"
      aria-describedby="confirm-cost"
      onClose={() => dialog.current?.open === false && change?.decide(false)}
      onCancel={() => change?.decide(false)}
    >
      {change && (
        <>
          <h2 id="confirm-title">{change.title}</h2>
          <p id="confirm-cost">{change.cost}</p>
          <div class="actions">
            <button type="button" onClick={() => change.decide(false)}>
              Cancel
            </button>
            <button type="button" class="main" onClick={() => change.decide(true)}>
              {change.action}
            </button>
          </div>
        </>
      )}
    </dialog>
  )
}
