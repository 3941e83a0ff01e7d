import type { ComponentChildren } from 'preact'
import type { Known } from '../session.js'
import { Chip, FlagLink, RelativeTime } from './small-parts.js'

/** Says that there is nothing yet, and what would be shown here. */
export function EmptyState({ children }: { readonly children: ComponentChildren }) {
  return <p class="state">{children}</p>
}

/** A placeholder with the size of the content, so that the layout does not jump. */
export function LoadingState({ what }: { readonly what: string }) {
  return (
    <div class="state loading" role="status">
      <span class="unseen">Loading {what}</span>
      <i />
      <i />
      <i />
    </div>
  )
}

/** Says why reading failed, and what to do. */
export function FailedState({
  what,
  fault,
  again,
}: {
  readonly what: string
  readonly fault: string
  readonly again?: (() => void) | undefined
}) {
  return (
    <div class="state failed">
      <p>
        <span aria-hidden="true">✗ </span>
        {what} could not be read: {fault}.
      </p>
      {again && (
        <button type="button" onClick={again}>
          Try again
        </button>
      )}
    </div>
  )
}

/** Says that the content is reserved for the broker's own machine or for holders of the token, and how to open it. */
function ForbiddenState({ what }: { readonly what: string }) {
  return (
    <div class="state" role="note">
      <p>
        <Chip tone="warning">read only</Chip> {what} can be seen on the broker's own machine, or with a token. From here
        only figures are shown.
      </p>
      <p>
        To open them, start the broker with <FlagLink flag="-adminToken" />: the console then asks for the token. Or
        with <FlagLink flag="-adminOpen" />: everybody who reaches this port may then read and change everything.
      </p>
    </div>
  )
}

/** A resource in each of its states: loading, failed, stale (grey, with the time of the last success), and current. */
export function Shown<Value>({
  known,
  what,
  children,
}: {
  readonly known: Known<Value> & { readonly again?: () => void }
  readonly what: string
  readonly children: (value: Value) => ComponentChildren
}) {
  const { value, fault, at_ms, again, isForbidden } = known
  if (isForbidden) return <ForbiddenState what={what} />
  if (value === undefined) {
    return fault === undefined ? <LoadingState what={what} /> : <FailedState what={what} fault={fault} again={again} />
  }
  return (
    <Stale since_ms={fault === undefined ? undefined : at_ms} why={fault}>
      {children(value)}
    </Stale>
  )
}

/** Figures that are not current are grey, with their time. */
export function Stale({
  since_ms,
  why,
  children,
}: {
  readonly since_ms: number | undefined
  readonly why?: string | undefined
  readonly children: ComponentChildren
}) {
  return (
    <div class={since_ms === undefined ? 'fresh' : 'stale'}>
      {since_ms !== undefined && (
        <p class="stale-note">
          As of <RelativeTime at_ms={since_ms} />
          {why !== undefined && `: ${why}`}.
        </p>
      )}
      {children}
    </div>
  )
}
