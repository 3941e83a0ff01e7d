import type { ComponentType } from 'preact'
import { useEffect, useErrorBoundary, useState } from 'preact/hooks'
import { openedAddress } from './address.js'
import { Banner } from './frame/banner.js'
import { HelpDialog } from './frame/help-dialog.js'
import { Navigation } from './frame/navigation.js'
import { SignInForm } from './frame/sign-in-form.js'
import { followKeys } from './keyboard.js'
import { useObservable } from './observable.js'
import { type ConsolePage, pageById } from './pages.js'
import { ConfirmDialog } from './parts/confirm.js'
import { FailedState, LoadingState } from './parts/states.js'
import { signIn } from './session.js'
import { StatusHeader } from './status-header.js'

/** What stands around every page. */
export function ConsoleFrame() {
  const state = useObservable(signIn)
  const page = pageById(useObservable(openedAddress).page)
  useEffect(followKeys, [])
  useEffect(() => {
    document.title = `${page.title} · Rigel`
  }, [page])
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

/** No link, since the address holds the page: one within the page would lead to another page. */
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
