/**
 * How a courier ends in order [subscriptions 5.5]:
 *
 *     sending ── its time is over ──▶ finishing ── nothing is under way ──▶ storing ── all is on disk ──▶ over
 *        ├──────── nothing can be sent ──────────────────────────────────────▲  ▲          │               ▲
 *        └──────── nothing was accepted for a while, or little time is left ─┴──┘          └── no progress, or no time
 */
export type EndStage =
  /** What is new is read, and attempts are begun. */
  | 'sending'
  /** What is under way is waited for. */
  | 'finishing'
  /** Nothing is sent any more: the outcomes that are known go to disk. */
  | 'storing'
  /** What is not on disk is sent again after the next start. */
  | 'over'

export interface EndState {
  readonly stage: EndStage
  /** Since the end has begun. */
  readonly passed_ms: number
  /** In this stage, and without progress: attempts that are accepted, then what is stored; time in which the process stood still is left out. */
  readonly spent_ms: number
  readonly quiet_ms: number
  /** As of the last look. */
  readonly progress: number
}

/** What is seen of the courier at one look. */
export interface EndLook {
  /** Since the look before. */
  readonly passed_ms: number
  /** Whether what was stored when the end began has been read. */
  readonly isRead: boolean
  /** Whether nothing can be begun, and nothing is under way. */
  readonly isIdle: boolean
  readonly underWay: number
  /** Attempts that were accepted, ever. */
  readonly accepted: number
  /** Outcomes that are not on disk, in any unit. */
  readonly unstored: number
}

const endBegun: EndState = { stage: 'sending', passed_ms: 0, spent_ms: 0, quiet_ms: 0, progress: 0 }

/** How often a courier that ends is looked at. */
export const endLook_ms = 10
/** Attempts are begun for so long at most: what has waited for long is not sent to its end. */
const sending_ms = 2000
/** Receivers that accept nothing for so long are given up. */
const receiverPatience_ms = 1000
/** Disks that store nothing for so long are given up. */
const diskPatience_ms = 5000
/** What storing has at least, whatever the attempts took. */
const storing_ms = 2000

/**
 * The state after a look, where the whole end has a limit. Time in which the process stood still does not count as patience: what has
 * arrived meanwhile is read only afterwards.
 */
export function endTransition(state: EndState, look: EndLook, limit_ms: number): EndState {
  const step_ms = Math.min(look.passed_ms, 2 * endLook_ms)
  const progress = state.stage === 'storing' ? look.unstored : look.accepted
  const passed_ms = state.passed_ms + look.passed_ms
  const spent_ms = state.spent_ms + step_ms
  const quiet_ms = progress === state.progress ? state.quiet_ms + step_ms : 0
  const next = { ...state, passed_ms, spent_ms, quiet_ms, progress }
  const stage = stageAfter[state.stage](next, look, limit_ms)
  if (stage === state.stage) return next
  // Receivers have no more patience because no attempts are begun any more.
  return { ...next, stage, spent_ms: 0, quiet_ms: stage === 'finishing' ? quiet_ms : 0 }
}

const stageAfter: Readonly<Record<EndStage, (state: EndState, look: EndLook, limit_ms: number) => EndStage>> = {
  sending: (state, { isRead, isIdle }, limit_ms) => {
    if ((isRead && isIdle) || isGivenUp(state, limit_ms)) return 'storing'
    return state.spent_ms < Math.min(limit_ms / 2, sending_ms) ? 'sending' : 'finishing'
  },
  finishing: (state, { underWay }, limit_ms) =>
    underWay === 0 || isGivenUp(state, limit_ms) ? 'storing' : 'finishing',
  storing: ({ passed_ms, spent_ms, quiet_ms }, { unstored }, limit_ms) => {
    const isLate = passed_ms >= limit_ms && spent_ms >= storing_ms
    return unstored === 0 || quiet_ms >= diskPatience_ms || isLate ? 'over' : 'storing'
  },
  over: () => 'over',
}

/** Whether attempts under way are waited for no longer; the last part of the time is for storing. */
function isGivenUp({ passed_ms, quiet_ms }: EndState, limit_ms: number): boolean {
  return quiet_ms >= receiverPatience_ms || passed_ms >= limit_ms - Math.min(limit_ms / 4, storing_ms)
}

interface EndParts {
  readonly look: () => Omit<EndLook, 'passed_ms'>
  /** A stage begins; stages may be left out. */
  readonly entered: (stage: EndStage) => void
  readonly steady_ms: () => number
  readonly sleep: (wait_ms: number) => Promise<unknown>
}

/** Ends a courier; resolves when the end is over. Each look takes it further, and the limits of the stages end it. */
export async function endInOrder(
  { look, entered, steady_ms, sleep }: EndParts,
  limit_ms: number,
  transition = endTransition,
): Promise<void> {
  entered(endBegun.stage)
  let looked_ms = steady_ms()
  for (let state = endBegun; state.stage !== 'over'; ) {
    const at_ms = steady_ms()
    const next = transition(state, { passed_ms: at_ms - looked_ms, ...look() }, limit_ms)
    if (next.stage !== state.stage) entered(next.stage)
    ;[state, looked_ms] = [next, at_ms]
    if (state.stage !== 'over') await sleep(endLook_ms)
  }
}
