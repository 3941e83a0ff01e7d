import { useLayoutEffect, useRef } from 'preact/hooks'
import { helpShown } from '../keyboard.js'
import { useObservable } from '../observable.js'
import { pagesOf } from '../pages.js'
import { ofCluster } from '../session.js'

const keys: readonly (readonly [keys: string, meaning: string])[] = [
  ['/', 'to the search'],
  ['j k', 'down and up in a table; the arrows, Home and End as well'],
  ['Enter', 'opens the row'],
  ['Esc', 'closes what is open, leaves the table'],
  ['p', 'pauses and goes on'],
  ['r', 'resets what the page measures; asks first'],
  ['?', 'this list'],
]

/** All keys. */
export function HelpDialog() {
  const shown = useObservable(helpShown)
  const dialog = useRef<HTMLDialogElement>(null)
  useLayoutEffect(() => {
    if (shown) dialog.current?.showModal()
    else dialog.current?.close()
  }, [shown])
  return (
    <dialog ref={dialog} aria-labelledby="help-title" onClose={() => helpShown.set(false)}>
      <h2 id="help-title">Keys</h2>
      <dl class="keys">
        {pagesOf(ofCluster.value).map(({ id, title, letter }) => (
          <Key key={id} keys={`g ${letter}`} meaning={title} />
        ))}
        {keys.map(([names, meaning]) => (
          <Key key={names} keys={names} meaning={meaning} />
        ))}
      </dl>
      <p>
        Reference, in a tab of its own:{' '}
        <a href="/docs" target="_blank" rel="noopener">
          interfaces
        </a>
        ,{' '}
        <a href="/docs/flags" target="_blank" rel="noopener">
          flags
        </a>
      </p>
      <div class="actions">
        <button type="button" class="main" onClick={() => helpShown.set(false)}>
          Close
        </button>
      </div>
    </dialog>
  )
}

function Key({ keys: names, meaning }: { readonly keys: string; readonly meaning: string }) {
  return (
    <div>
      <dt>
        {names.split(' ').map((name) => (
          <kbd key={name}>{name}</kbd>
        ))}
      </dt>
      <dd>{meaning}</dd>
    </div>
  )
}
