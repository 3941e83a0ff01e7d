import { Observable, useObservable } from './observable.js'

/** The address of the console, which can be sent and opens the same view elsewhere. */
export interface Address {
  /** The id of a page; empty for the first one. */
  readonly page: string
  readonly parameters: ReadonlyMap<string, string>
}

/** The current address. Only the functions below change it. */
export const openedAddress = new Observable(parseAddress(location.hash))

/** Parameters that all pages share. */
const shared: ReadonlySet<string> = new Set(['last', 'tenant'])

/** Parses `#/waits?last=15m`. */
function parseAddress(hash: string): Address {
  const [page = '', query = ''] = hash.replace(/^#\/?/, '').split('?', 2)
  return { page: decoded(page), parameters: new Map(new URLSearchParams(query)) }
}

/** The link to a page, with the parameters that all pages share. */
export function linkTo(page: string, parameters: Readonly<Record<string, string>> = {}): string {
  const kept = [...openedAddress.value.parameters].filter(([name]) => shared.has(name))
  return hashOf(page, new Map([...kept, ...Object.entries(parameters)]))
}

export function openPage(page: string, parameters: Readonly<Record<string, string>> = {}): void {
  location.hash = linkTo(page, parameters)
}

/**
 * Sets or removes a parameter of the open page. The history gets no entry, so that Back leads to the previous page, not to each
 * letter of a search.
 */
export function setParameter(name: string, value: string | undefined): void {
  const { page, parameters } = openedAddress.value
  const next = new Map(parameters)
  if (value === undefined || value === '') next.delete(name)
  else next.set(name, value)
  history.replaceState(null, '', hashOf(page, next))
  openedAddress.set({ page, parameters: next })
}

/** Follows the address from now on. */
export function followAddress(): void {
  addEventListener('hashchange', () => openedAddress.set(parseAddress(location.hash)))
}

function hashOf(page: string, parameters: ReadonlyMap<string, string>): string {
  const query = new URLSearchParams([...parameters]).toString()
  return `#/${encodeURIComponent(page)}${query === '' ? '' : `?${query}`}`
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return ''
  }
}

/** The default tenant in the address; no tenant can have this name. */
export const defaultTenant = '-'
/** Its name for people. */
export const nameOfDefault = 'default tenant'

/** The tenant that the header has chosen: empty for the default one, undefined for all of them. */
export function useTenant(): string | undefined {
  const chosen = useObservable(openedAddress).parameters.get('tenant')
  return chosen === defaultTenant ? '' : chosen
}

/** The time spans of charts, up to what is kept. */
export const spans = [
  { name: '1m', title: 'last minute', seconds: 60 },
  { name: '5m', title: 'last 5 min', seconds: 300 },
  { name: '15m', title: 'last 15 min', seconds: 900 },
  { name: '1h', title: 'last hour', seconds: 3600 },
] as const

type Span = (typeof spans)[number]

/** The time span of charts, from the address. */
export function useSpan(): Span {
  const name = useObservable(openedAddress).parameters.get('last')
  return spans.find((span) => span.name === name) ?? spans[1]
}
