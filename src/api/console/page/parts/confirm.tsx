import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { Observable, useObservable } from '../observable.js'
import { send, sentenceOf } from '../session.js'

/** A change that somebody has to agree to. */
interface Change {
  /** What is to be done, as a question. */
  readonly title: string
  /** What it costs, and what can not be had back. */
  readonly cost: string
  /** The words on the button that does it. */
  readonly action: string
}

const asked = new Observable<(Change & { readonly decide: (agreed: boolean) => void }) | undefined>(undefined)

/** Asks before something is changed, and says what it costs; resolves with whether it is to be done. */
export function confirmChange(change: Change): Promise<boolean> {
  asked.value?.decide(false)
  return new Promise((resolve) => {
    asked.set({
      ...change,
      decide: (agreed) => {
        asked.set(undefined)
        resolve(agreed)
      },
    })
  })
}

/** Sends changes to the broker; `fault` is why the last one was not done, and `over` is called after each, done or not. */
export function useChange(over: () => void = () => {}) {
  const [fault, setFault] = useState<string>()
  /** Resolves with whether it was done. */
  const change = async (path: string, method: 'PUT' | 'DELETE' = 'PUT'): Promise<boolean> => {
    const refusal = await send(path, { method }).then(() => undefined, sentenceOf)
    setFault(refusal)
    over()
    return refusal === undefined
  }
  return { change, fault }
}

/** Why a change was not done. */
export function ChangeFault({ fault }: { readonly fault: string | undefined }) {
  return fault === undefined ? null : <p class="failed">That was not done: {fault}.</p>
}

/** Where the question is shown; stands once in the console. */
export function ConfirmDialog() {
  const change = useObservable(asked)
  const dialog = useRef<HTMLDialogElement>(null)
  // Before anything is drawn: a question that is seen can be answered.
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
