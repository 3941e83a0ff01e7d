import type { ReplicaEvent, ReplicaState, Transition } from '../../src/partition/replica/replica-state.js'
import { transition } from '../../src/partition/replica/transitions.js'
import type { Response, Version } from './simulated-node.js'
import { present } from './simulation.js'

/** What the program would be without some part of it: the simulation has to find each. */
export const faultyVersions: Readonly<Record<string, Version>> = {
  'two loops follow one log': { ...present, transition: anyReadCounts },
  'two loops follow one log, and its store applies what it has applied': {
    ...present,
    transition: anyReadCounts,
    refusesTwice: false,
  },
  'the next response of the log is taken for that to the last question': {
    ...present,
    questions: () => new UnnumberedQuestions(),
  },
  'an election after a close is kept': { ...present, transition: closeIsForgotten },
  'an owner says how far it is when its snapshots show it': { ...present, commitsFirst: false },
  'an elected node does not wait for the read lease before': { ...present, transition: withoutWait },
  'a release during the wait is as good as one after it': { ...present, transition: releaseWhileWaiting },
  'what stands is shown before its owner shows it': { ...present, transition: showsWhatStands },
  'a node shows what it has while it releases': { ...present, transition: withoutRevoking },
  'an elected node takes turns without the metadata that others had in force': {
    ...present,
    transition: withoutMetadata,
  },
  'what there is no room for is left out': { ...present, transition: leavesOut },
}

/** A response that belongs to a read of before is taken for that to the last one, and each loss begins another loop. */
function anyReadCounts(state: ReplicaState, event: ReplicaEvent): Transition {
  if (event.kind !== 'read' || state.role.kind !== 'follows') return transition(state, event)
  return transition({ ...state, role: { ...state.role, isReading: true } }, { ...event, read: state.reads })
}

function closeIsForgotten(state: ReplicaState, event: ReplicaEvent): Transition {
  const isLate = event.kind === 'campaigned' && state.isToClose
  return transition(isLate ? { ...state, isToClose: false } : state, event)
}

function withoutWait(state: ReplicaState, event: ReplicaEvent): Transition {
  const view = { ...state.view, writer: undefined }
  return transition(event.kind === 'campaigned' ? { ...state, view } : state, event)
}

function releaseWhileWaiting(state: ReplicaState, event: ReplicaEvent): Transition {
  const { role } = state
  if (event.kind !== 'release' || role.kind !== 'elected') return transition(state, event)
  return transition({ ...state, applied: state.view.last, role: { ...role, isOver: true } }, event)
}

function showsWhatStands(state: ReplicaState, event: ReplicaEvent): Transition {
  return transition({ ...state, commitIndex: Number.MAX_SAFE_INTEGER as ReplicaState['commitIndex'] }, event)
}

function withoutRevoking(state: ReplicaState, event: ReplicaEvent): Transition {
  const { state: next, effects } = transition(state, event)
  return { state: next, effects: effects.filter(({ kind }) => kind !== 'revoke') }
}

function withoutMetadata(state: ReplicaState, event: ReplicaEvent): Transition {
  const view = { ...state.view, metadataNeeded: 0 as ReplicaState['metadataVersion'] }
  return transition({ ...state, view }, event)
}

function leavesOut(state: ReplicaState, event: ReplicaEvent): Transition {
  return transition(event.kind === 'noRoom' ? { ...state, applying: undefined } : state, event)
}

/** Who asks takes the next message for the response to what was asked last. */
class UnnumberedQuestions {
  readonly #open: ((response: Response) => void)[] = []

  ask(take: (response: Response) => void): number {
    return this.#open.push(take)
  }

  answered(_: number, response: Response): void {
    this.#open.pop()?.(response)
  }
}
