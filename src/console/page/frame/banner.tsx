import { useClock } from '../clock.js'
import { clockText } from '../format.js'
import { type Connection, connection } from '../live-state.js'
import { useObservable } from '../observable.js'
import { paused } from '../resource.js'
import { isOutdated } from '../session.js'

/** Says that what is shown is not what is. */
export function Banner() {
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
          <span aria-hidden="true">❚❚ </span>Paused: figures stand still.{' '}
          <button type="button" onClick={() => paused.set(false)}>
            Go on
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
