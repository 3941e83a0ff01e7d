import { useEffect } from 'preact/hooks'
import { openPage } from './address.js'
import { Observable } from './observable.js'
import { pagesOf } from './pages.js'
import { ofCluster, paused } from './session.js'

export const helpShown = new Observable(false)

/** The action of `r` on the open page; undefined where nothing can be reset. */
let reset: (() => void) | undefined

/** Sets the action of `r` while the page is open. */
export function useReset(act: () => void): void {
  useEffect(() => {
    reset = act
    return () => {
      if (reset === act) reset = undefined
    }
  })
}

/** How long after `g` a letter opens a page. */
const prefix_ms = 1_500

/** Handles the global keys until the function that it gives is called. */
export function followKeys(): () => void {
  // The times of the key events themselves: a busy page handles them late.
  let prefixed_ms = Number.NEGATIVE_INFINITY
  const keyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return
    if (document.querySelector('dialog[open]') !== null) return
    const isPrefixed = event.timeStamp - prefixed_ms < prefix_ms
    prefixed_ms = Number.NEGATIVE_INFINITY
    const page = isPrefixed ? pagesOf(ofCluster.value).find(({ letter }) => letter === event.key) : undefined
    if (page !== undefined) openPage(page.id)
    else if (event.key === 'g') prefixed_ms = event.timeStamp
    else if (!actOn(event.key)) return
    event.preventDefault()
  }
  document.addEventListener('keydown', keyDown)
  return () => document.removeEventListener('keydown', keyDown)
}

/** Acts on a key; says whether it has a meaning. */
function actOn(key: string): boolean {
  if (key === '/') return focusFirst('[data-search]')
  if (key === 'j' || key === 'k') return focusFirst('[data-rows] tr[tabindex="0"]')
  if (key === 'p') paused.set(!paused.value)
  else if (key === '?') helpShown.set(true)
  else if (key === 'r' && reset !== undefined) reset()
  else return false
  return true
}

function focusFirst(selector: string): boolean {
  const element = document.querySelector<HTMLElement>(selector)
  element?.focus()
  if (element instanceof HTMLInputElement) element.select()
  return element !== null
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName))
}
