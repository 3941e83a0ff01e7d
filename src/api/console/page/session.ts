import { useEffect, useState } from 'preact/hooks'
import type { ConsoleFacts } from '../shapes.js'
import { Observable, useObservable } from './observable.js'

/** How the console stands with the broker's token: not known yet; none is needed or one was given; one is needed; the one given was wrong. */
export type SignIn = 'unknown' | 'done' | 'needed' | 'wrong'

/** Whether somebody has to give the token. */
export const signIn = new Observable<SignIn>('unknown')

/** Whether the broker takes no changes from here, since it has no token and is reached from elsewhere. */
export const readOnly = new Observable(false)

/** Whether the broker is of a cluster. */
export const ofCluster = new Observable(false)

/** Kept in the memory of the tab only: in no address, cookie, storage or log. */
let token: string | undefined

/** Finds out whether the broker has a token; nothing else is asked for before. */
export async function openSession(): Promise<void> {
  // A broker that can not be reached now is asked for other things again and again.
  const unknown = { needsToken: false, ofCluster: false }
  const { needsToken, ...broker } = await read<ConsoleFacts>('/console/access.json').catch(() => unknown)
  ofCluster.set(broker.ofCluster)
  signIn.set(needsToken ? 'needed' : 'done')
}

/** Takes the token that was given, and lets all that was refused be tried again. */
export function giveToken(given: string): void {
  token = given
  signIn.set('done')
}

/** Whether a token is sent, so that a call that can be copied says where it belongs. */
export function usesToken(): boolean {
  return token !== undefined
}

/** Whether the broker is of another version than this page: the two may not understand each other. */
export const isOutdated = new Observable(false)

/** Nothing is read any more, since the page would take it for something else. */
class Outdated extends Error {
  override readonly name = 'Outdated'
}

/** Compares what the broker says of itself with what this page was built from. */
export function compareVersions({ version, gitHash }: { readonly version: string; readonly gitHash: string }): void {
  const built = document.querySelector<HTMLMetaElement>('meta[name="rigel-build"]')?.content
  if (built !== undefined && built !== `${version} ${gitHash}`) isOutdated.set(true)
}

/** Why the broker has not done what it was asked for. */
export class Refused extends Error {
  override readonly name = 'Refused'
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** Whether the broker takes such a request from its own machine, or with a token: to ask again would give the same. */
export function isForbidden(fault: unknown): boolean {
  return fault instanceof Refused && fault.status === 403
}

/** Sends a request to the management, with the token; throws `Refused` for every status but those of success. */
export async function send(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers)
  const sent = token
  // So that it is counted apart from what programs ask.
  headers.set('Rigel-Console', '1')
  if (sent !== undefined) headers.set('Authorization', `Bearer ${sent}`)
  const response = await fetch(path, { ...init, headers, cache: 'no-store', redirect: 'error' })
  if (response.ok) return response
  // Another request may have been refused meanwhile, and another token given.
  if (response.status === 401 && sent === token) signIn.set(sent === undefined ? 'needed' : 'wrong')
  throw new Refused(response.status, await descriptionOf(response))
}

/** Reads a resource of the management, which a broker of the same version answers with the type that `shapes.ts` has for it. */
export async function read<Value>(path: string, signal?: AbortSignal): Promise<Value> {
  if (isOutdated.value) throw new Outdated()
  const response = await send(path, signal === undefined ? {} : { signal })
  return fromJson(await response.text())
}

/** What the broker sends, as the type that it has there. */
export function fromJson<Value>(text: string): Value {
  return JSON.parse(text) as Value
}

/** What went wrong, in a sentence for people. */
export function sentenceOf(fault: unknown): string {
  if (fault instanceof Refused) return fault.message
  if (fault instanceof Outdated) return 'Rigel was updated: load the page again'
  return 'the broker cannot be reached'
}

async function descriptionOf(response: Response): Promise<string> {
  const text = await response.text().catch(() => '')
  const [, quoted] = /"(?:description|details)":("(?:[^"\\]|\\.)*")/.exec(text) ?? []
  const said: unknown = quoted === undefined ? undefined : JSON.parse(quoted)
  return typeof said === 'string' ? said : `HTTP status ${response.status}`
}

/** Whether all that is shown stands still. */
export const paused = new Observable(false)

/** What is known of a resource. With a value and a fault the value is stale: it is what was known at `at_ms`. */
export interface Known<Value> {
  readonly value: Value | undefined
  /** When the value was read, in milliseconds since 1970. */
  readonly at_ms: number
  readonly fault: string | undefined
  /** Whether it is for others: it is not asked for again. */
  readonly isForbidden?: boolean
}

const nothing = { value: undefined, at_ms: 0, fault: undefined }

/** How often what is shown is read again, in milliseconds. */
const usual_ms = 2_000

/**
 * A resource of the management, with the type that `shapes.ts` has for it: read at once, and again and again while the tab is looked at
 * and nothing is paused. Another path is another resource. `again` reads it now.
 */
export function useResource<Value>(
  path: string | undefined,
  every_ms = usual_ms,
): Known<Value> & { readonly again: () => void } {
  const [known, setKnown] = useState<Known<Value> & { readonly path?: string | undefined }>(nothing)
  const [asked, setAsked] = useState(0)
  const still = useObservable(paused)
  const token = useObservable(signIn)
  useEffect(() => {
    if (path === undefined || token !== 'done') return
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
  }, [path, token, still, asked, every_ms])
  const shown = known.path === path ? known : nothing
  return { ...shown, again: () => setAsked((times) => times + 1) }
}
