import { useEffect, useState } from 'preact/hooks'
import type { ConsoleFacts } from '../shapes.js'
import { Observable, useObservable } from './observable.js'

/** The state of the sign-in: not known yet; no token needed, or one was given; a token is needed; the given one was wrong. */
export type SignIn = 'unknown' | 'done' | 'needed' | 'wrong'

export const signIn = new Observable<SignIn>('unknown')

/** Whether the broker refuses changes from here, because it has no token and other machines can reach it. */
export const readOnly = new Observable(false)

/** Whether the broker is part of a cluster. */
export const ofCluster = new Observable(false)

/** Whether everything may be read from here. */
const mayReadAll = new Observable(true)
let openReads: readonly string[] = []

/** Whether a resource may not be read from here; it is not asked for, since each refusal counts as bad input of a client. */
function isReserved(path: string): boolean {
  const [resource = ''] = path.split('?')
  return !mayReadAll.value && resource.startsWith('/admin/') && !openReads.includes(resource)
}

/** Kept by the tab only, also while the page is loaded again: in no address, cookie, log, or storage that other tabs see. */
let token: string | undefined
/** The name that the tab keeps it under. */
const tokenKey = 'rigel-token'

/** Finds out whether the broker has a token, before any other request. */
export async function openSession(): Promise<void> {
  // If the broker cannot be reached now, other requests are repeated anyway.
  const unknown = { needsToken: false, ofCluster: false, openReads: [], mayReadAll: true }
  const { needsToken, ...facts } = await read<ConsoleFacts>('/console/access.json').catch(() => unknown)
  ofCluster.set(facts.ofCluster)
  openReads = facts.openReads
  mayReadAll.set(facts.mayReadAll)
  if (needsToken) token = sessionStorage.getItem(tokenKey) ?? undefined
  signIn.set(needsToken && token === undefined ? 'needed' : 'done')
}

/** Takes a token, and repeats all refused requests. */
export function giveToken(given: string): void {
  token = given
  sessionStorage.setItem(tokenKey, given)
  signIn.set('done')
}

/** Whether a token is sent, so that copied commands include its header. */
export function usesToken(): boolean {
  return token !== undefined
}

/** Whether the broker's version differs from this page's: they may not understand each other. */
export const isOutdated = new Observable(false)

/** The page reads nothing more, since it could misinterpret the responses. */
class Outdated extends Error {
  override readonly name = 'Outdated'
}

/** Compares the broker's version with that of this page. */
export function compareVersions({ version, gitHash }: { readonly version: string; readonly gitHash: string }): void {
  const built = document.querySelector<HTMLMetaElement>('meta[name="rigel-build"]')?.content
  if (built !== undefined && built !== `${version} ${gitHash}`) isOutdated.set(true)
}

/** The broker has refused a request. */
export class RefusedRequest extends Error {
  override readonly name = 'Refused'
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** Whether the request is reserved for the broker's own machine or holders of a token: repeating it would not help. */
export function isForbidden(fault: unknown): boolean {
  return fault instanceof RefusedRequest && fault.status === 403
}

/** Sends a request to the management interface, with the token; throws `Refused` for every status but success. */
export async function send(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers)
  const sent = token
  // So that requests of the console are counted apart from those of programs.
  headers.set('Rigel-Console', '1')
  if (sent !== undefined) headers.set('Authorization', `Bearer ${sent}`)
  const response = await fetch(path, { ...init, headers, cache: 'no-store', redirect: 'error' })
  if (response.ok) return response
  // Another request may have been refused meanwhile, and another token given.
  if (response.status === 401 && sent === token) {
    sessionStorage.removeItem(tokenKey)
    signIn.set(sent === undefined ? 'needed' : 'wrong')
  }
  throw new RefusedRequest(response.status, await descriptionOf(response))
}

/** Reads a resource of the management interface, whose type in a broker of the same version is in `shapes.ts`. */
export async function read<Value>(path: string, signal?: AbortSignal): Promise<Value> {
  if (isOutdated.value) throw new Outdated()
  const response = await send(path, signal === undefined ? {} : { signal })
  return fromJson(await response.text())
}

/** Parses JSON of the broker, whose type is trusted. */
export function fromJson<Value>(text: string): Value {
  return JSON.parse(text) as Value
}

/** An error as a sentence for people. */
export function sentenceOf(fault: unknown): string {
  if (fault instanceof RefusedRequest) return fault.message
  if (fault instanceof Outdated) return 'Rigel was updated: load the page again'
  return 'the broker cannot be reached'
}

async function descriptionOf(response: Response): Promise<string> {
  const text = await response.text().catch(() => '')
  const [, quoted] = /"(?:description|details)":("(?:[^"\\]|\\.)*")/.exec(text) ?? []
  const body: unknown = quoted === undefined ? undefined : JSON.parse(quoted)
  return typeof body === 'string' ? body : `HTTP status ${response.status}`
}

/** Whether the console is paused. */
export const paused = new Observable(false)

/** The state of a resource. With both a value and a fault the value is stale: it was read at `at_ms`. */
export interface Known<Value> {
  readonly value: Value | undefined
  /** When the value was read, in milliseconds since 1970. */
  readonly at_ms: number
  readonly fault: string | undefined
  /** Whether it is reserved for others; then it is not requested again. */
  readonly isForbidden?: boolean
}

const nothing = { value: undefined, at_ms: 0, fault: undefined }

/** How often shown resources are read again, in milliseconds. */
const usual_ms = 2_000

/**
 * A resource of the management interface, with its type in `shapes.ts`: read at once, and repeatedly while the tab is visible and
 * the console is not paused. Another path is another resource. `again` reads it now.
 */
export function useResource<Value>(
  path: string | undefined,
  every_ms = usual_ms,
): Known<Value> & { readonly again: () => void } {
  const [known, setKnown] = useState<Known<Value> & { readonly path?: string | undefined }>(nothing)
  const [repetitions, setRepetitions] = useState(0)
  const still = useObservable(paused)
  const token = useObservable(signIn)
  useEffect(() => {
    if (path === undefined || token !== 'done') return
    if (isReserved(path)) {
      setKnown({ ...nothing, path, fault: 'it is reserved', isForbidden: true })
      return
    }
    const gone = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const take = async (): Promise<void> => {
      if (document.visibilityState === 'visible') {
        try {
          const value = await read<Value>(path, gone.signal)
          if (!gone.signal.aborted) setKnown({ path, value, at_ms: Date.now(), fault: undefined })
        } catch (fault) {
          if (gone.signal.aborted) return
          const forbidden = isForbidden(fault)
          setKnown((before) => ({
            ...(before.path === path && !forbidden ? before : nothing),
            path,
            fault: sentenceOf(fault),
            isForbidden: forbidden,
          }))
          if (forbidden) return
        }
      }
      if (!gone.signal.aborted && !still) timer = setTimeout(take, every_ms)
    }
    void take()
    return () => {
      gone.abort()
      clearTimeout(timer)
    }
  }, [path, token, still, repetitions, every_ms])
  const shown = known.path === path ? known : nothing
  return { ...shown, again: () => setRepetitions((times) => times + 1) }
}
