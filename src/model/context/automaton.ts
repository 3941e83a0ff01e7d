import type { RE2JS } from 're2js'

/**
 * The states of the engine's automaton: sets of instructions that a search can be at. The engine makes a state when it first
 * meets it, which takes far longer than a look-up. Some expressions have so many states that every character makes a new one.
 */
export interface Automaton {
  /** As the engine itself counts them. */
  readonly bytes: number
  /** The transitions that were explored. */
  readonly transitions: number
  /** The classes of characters that the expression distinguishes. */
  readonly classes: number
  /** Whether these are all states, so that no search makes a new one. */
  readonly isComplete: boolean
}

/** Where states are many, a larger limit is slower: states are forgotten and made again. The engine's own limit is 8 MiB. */
const searched_bytes = 2 ** 16

/** For patterns that are kept: some 500 states. */
const kept_bytes = 2 ** 17

/** Each takes up to 2 µs. */
const mostTransitions = 4096

/** The engine's flag for the beginning of a text, and its rune for the end. */
const beginOfText = 4
const endOfText = -1
const unanchored = 0
const isExact = 1

/** Bounds the engine's cache of states. Beyond that the engine executes the instructions one by one. */
export function limitAutomaton({ re2Input: { dfa } }: RE2JS): void {
  dfa.stateBudget = searched_bytes
  dfa.memBudget = searched_bytes
}

/**
 * Makes all states of an expression that will be searched often, so that every search of a text of some length takes the same
 * time. When there are too many states, the engine works without them from now on. It also stops searching for several literals
 * first: each of these searches would cost as much as the automaton.
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

/** The number of transitions from all reachable states; undefined when there are too many. */
function explored(dfa: RE2JS['re2Input']['dfa']): number | undefined {
  const { numClasses, classBounds } = dfa
  const first: AutomatonState | null = dfa.start({ context: () => beginOfText }, 0)
  if (first === null) return undefined
  const states = new Set([first])
  let transitions = 0
  for (const state of states) {
    // A search ends in this state.
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
