import type { ComponentType } from 'preact'
import { useEffect, useErrorBoundary, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { linkTo, openedAddress } from './address.js'
import { clockText } from './format.js'
import { followKeys, helpShown } from './keyboard.js'
import { type Connection, connection, live } from './live-state.js'
import { useClock, useObservable } from './observable.js'
import { type ConsolePage, pageById, pagesOf } from './pages.js'
import { ConfirmDialog, dismissChange } from './parts/confirm.js'
import { FailedState, LoadingState } from './parts/states.js'
import { giveToken, isOutdated, ofCluster, paused, type SignIn, signIn } from './session.js'
import { StatusHeader } from './status-header.js'

/** The frame around every page. */
export function ConsoleFrame() {
  const state = useObservable(signIn)
  const page = pageById(useObservable(openedAddress).page)
  useEffect(followKeys, [])
  const name = useObservable(live)?.hello.name
  useEffect(() => {
    document.title = [page.title, name, 'Rigel'].filter((part) => part !== undefined).join(' · ')
  }, [page, name])
  // What a dialog asks belongs to the page that it was opened on.
  useEffect(() => () => closeDialogs(), [page])
  if (state === 'needed' || state === 'wrong') return <SignInForm state={state} />
  return (
    <>
      <button type="button" class="skip" onClick={skip}>
        Skip to the page
      </button>
      <StatusHeader />
      <Navigation open={page} />
      <Banner />
      <main id="main" tabIndex={-1} aria-labelledby="page-title">
        <PageContent page={page} key={page.id} />
      </main>
      <HelpDialog />
      <ConfirmDialog />
    </>
  )
}

function closeDialogs(): void {
  dismissChange()
  helpShown.set(false)
}

/** Not a link, since the fragment of the address names the page. */
function skip(): void {
  document.getElementById('main')?.focus()
}

function PageContent({ page }: { readonly page: ConsolePage }) {
  const [content, setContent] = useState<{ readonly Shown: ComponentType }>()
  const [missing, setMissing] = useState(false)
  const [fault, forget] = useErrorBoundary()
  useEffect(() => {
    page.load().then(
      (Shown) => setContent({ Shown }),
      () => setMissing(true),
    )
  }, [page])
  if (missing) {
    return (
      <FailedState
        what="This page"
        fault="the broker cannot be reached, or is of another version by now"
        again={() => location.reload()}
      />
    )
  }
  if (fault !== undefined) {
    return (
      <FailedState what="This page" fault={fault instanceof Error ? fault.message : String(fault)} again={forget} />
    )
  }
  return content === undefined ? <LoadingState what={page.title} /> : <content.Shown />
}

/** The links to the pages. */
function Navigation({ open }: { readonly open: ConsolePage }) {
  const pages = pagesOf(useObservable(ofCluster))
  return (
    <nav class="pages" aria-label="Pages">
      <ul>
        {pages.map(({ id, title, letter }) => (
          <li key={id}>
            <a href={linkTo(id)} aria-current={id === open.id ? 'page' : undefined} title={`g ${letter}`}>
              {title}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  )
}

/** Warns that the shown figures are not current. */
function Banner() {
  const state = useObservable(connection)
  const still = useObservable(paused)
  const outdated = useObservable(isOutdated)
  if (state.kind !== 'lost' && !still && !outdated) return null
  return (
    <section class="banners" aria-label="State of the console" aria-live="off">
      {state.kind === 'lost' && <Lost {...state} />}
      {outdated && (
        <p class="banner bad">
          <span aria-hidden="true">↻ </span>Rigel was updated: reload.{' '}
          <button type="button" onClick={() => location.reload()}>
            Reload
          </button>
        </p>
      )}
      {still && (
        <p class="banner">
          <span aria-hidden="true">❚❚ </span>Paused.{' '}
          <button type="button" onClick={() => paused.set(false)}>
            Resume
          </button>
        </p>
      )}
    </section>
  )
}

function Lost({ since_ms, fault, next_ms }: Extract<Connection, { kind: 'lost' }>) {
  const left_s = Math.max(0, Math.ceil((next_ms - useClock()) / 1000))
  return (
    <p class="banner bad">
      <span aria-hidden="true">✗ </span>
      No connection since {clockText(since_ms)}: {fault}.{' '}
      {left_s === 0 ? 'Trying now.' : `Trying again in ${left_s} s.`}
    </p>
  )
}

const keys: readonly (readonly [keys: string, meaning: string])[] = [
  ['/', 'to the search'],
  ['j k', 'down and up in a table; the arrows, Home and End as well'],
  ['Enter', 'opens the row'],
  ['Esc', 'closes what is open, leaves the table'],
  ['p', 'pauses and goes on'],
  ['r', 'resets what the page measures; asks first'],
  ['?', 'this list'],
]

/** The list of all keys. */
function HelpDialog() {
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

/** Asks for the management token, once per tab: only the tab keeps it. */
function SignInForm({ state }: { readonly state: SignIn }) {
  const [given, setGiven] = useState('')
  return (
    <main class="sign-in" id="main">
      <form
        onSubmit={(event) => {
          event.preventDefault()
          giveToken(given)
        }}
      >
        <h1>Rigel</h1>
        <p>The management of this broker needs a token. Only this tab keeps the token, until you close it.</p>
        <label for="token">Token</label>
        <input
          id="token"
          type="password"
          autocomplete="off"
          spellcheck={false}
          required
          value={given}
          aria-describedby={state === 'wrong' ? 'token-fault' : undefined}
          aria-invalid={state === 'wrong'}
          onInput={({ currentTarget }) => setGiven(currentTarget.value)}
        />
        {state === 'wrong' && (
          <p id="token-fault" class="failed" role="alert">
            The broker does not accept this token.
          </p>
        )}
        <button type="submit" class="main">
          Open the console
        </button>
        <p class="quiet">
          It is the value of <code class="flag">-adminToken</code>, or stands in the file of{' '}
          <code class="flag">-adminTokenFile</code>.
        </p>
      </form>
    </main>
  )
}
