import type { RE2JS } from 're2js'

/**
 * The states of the engine's automaton: sets of instructions that a search can be at. The engine makes them when it first
 * meets them, which takes far longer than to look one up, and some expressions have enough of them that each character makes a new one.
 */
export interface Automaton {
  /** By what the engine itself counts. */
  readonly bytes: number
  /** Transitions that were looked at. */
  readonly transitions: number
  /** Of characters, as the expression tells them apart. */
  readonly classes: number
  /** Whether these are all there are: a search makes none any more. */
  readonly isComplete: boolean
}

/** More makes it slower where states are many: they are forgotten and made again. The engine's own limit is 8 MiB. */
const searched_bytes = 2 ** 16

/** For what is kept: some 500 states. */
const kept_bytes = 2 ** 17

/** Each takes up to 2 us. */
const mostTransitions = 4096

/** A flag of the engine for the beginning of a text, and its rune for the end. */
const beginOfText = 4
const endOfText = -1
const unanchored = 0
const isExact = 1

/** Bounds what the engine remembers: beyond that it goes through the instructions one by one. */
export function limitAutomaton({ re2Input: { dfa } }: RE2JS): void {
  dfa.stateBudget = searched_bytes
  dfa.memBudget = searched_bytes
}

/**
 * Makes all states of an expression that will be searched for often, so that no search takes longer than another one of a
 * text of this length. When there are too many the engine does without states from now on. It also does without searching
 * for several literals first: each search costs as much as the automaton.
 */
export function completeAutomaton({ re2Input }: RE2JS): Automaton {
  if (re2Input.prefilter !== null && re2Input.prefilter.type !== isExact) re2Input.prefilter = null
  const { dfa, onepass } = re2Input
  // Anchored, and each character decides: the engine needs no states.
  if (onepass !== null) return { bytes: 0, transitions: 0, classes: dfa.numClasses, isComplete: true }
  dfa.stateBudget = kept_bytes
  dfa.memBudget = kept_bytes
  const transitions = explored(dfa)
  const isComplete = transitions !== undefined
  if (!isComplete) {
    dfa.failed = true
    dfa.clearCache()
  }
  return {
    bytes: isComplete ? kept_bytes - dfa.memBudget : 0,
    transitions: transitions ?? mostTransitions,
    classes: dfa.numClasses,
    isComplete,
  }
}

/** How many transitions there are from all states that a search can come to; nothing when they are too many. */
function explored(dfa: RE2JS['re2Input']['dfa']): number | undefined {
  const { numClasses, classBounds } = dfa
  const first: AutomatonState | null = dfa.start({ context: () => beginOfText }, 0)
  if (first === null) return undefined
  const states = new Set([first])
  let transitions = 0
  for (const state of states) {
    // Here a search is over.
    if (state.isMatch) continue
    transitions += numClasses + 1
    if (transitions > mostTransitions) return undefined
    for (let one = 0; one <= numClasses; one += 1) {
      const rune = one === numClasses ? endOfText : one === 0 ? 0 : classBounds[one - 1]
      const next: AutomatonState | null = dfa.step(state, one, rune, unanchored)
      if (next === null) return undefined
      if (one < numClasses) states.add(next)
    }
  }
  return transitions
}

interface AutomatonState {
  readonly isMatch: boolean
}
