import type { SentOutcome } from '../../src/cluster/link/batch-route.js'
import {
  type QueueEffect,
  type QueueEvent,
  type QueueMoment,
  queueStep,
  type RemoteQueue,
} from '../../src/cluster/link/remote-queue.js'
import { refusalOf } from '../../src/partition/mailbox/inbox.js'
import { err } from '../../src/result.js'
import { type BatchSender, SenderTable } from '../../src/threads/shared-memory/sender-table.js'
import { present, type Version } from './simulated-node.js'

/**
 * What the program would be without some part of it: the simulation has to find each. It takes 200 schedules or fewer on the average.
 * That a fencing token is not bound to its election, or that an update whose connection broke is answered when a way to any other node is
 * opened, takes thousands: those are not here.
 */
export const faultyVersions: Readonly<Record<string, Version>> = {
  'batches are not bound to a fencing token: ownership that begins between two lets the second overtake the first': {
    ...present,
    refusalOf: (batch, begun) => refusalOf(batch, begun, undefined),
  },
  'batches are bound to the election, and not to the refusals before': { ...present, refusalOf: refusalsDoNotCount },
  'an update is answered at once when its connection breaks, and may be carried out later': {
    ...present,
    queueStep: respondsAtOnce,
  },
  'an update whose connection broke is sent again, although it may be carried out': {
    ...present,
    queueStep: (queue, event, moment) => queueStep(queue, sentAgain(event), moment),
  },
  'what comes back is sent in the order in which it comes back': { ...present, queueStep: unsorted },
  'an update that nobody waits for any more is carried out': {
    ...present,
    refusalOf: (batch, _, fencingToken) => refusalOf(batch, 0n, fencingToken),
  },
  'a connection is opened while batches of an earlier one are under way': {
    ...present,
    senders: () => new AlwaysQuiet(1),
  },
  'what an earlier connection brings is taken after a later one was opened': {
    ...present,
    senders: () => new NeverOvertaken(1),
  },
}

type Step = ReturnType<typeof queueStep>

function refusalsDoNotCount(
  ...[batch, begun, fencingToken]: Parameters<typeof refusalOf>
): ReturnType<typeof refusalOf> {
  const refusals = batch.fencingToken?.refusals
  return refusalOf(batch, begun, fencingToken && refusals !== undefined ? { ...fencingToken, refusals } : fencingToken)
}

function respondsAtOnce(queue: RemoteQueue, event: QueueEvent, moment: QueueMoment): Step {
  const [next, effects] = queueStep(queue, event, moment)
  const responses = next.unanswered.map(({ entry }): QueueEffect => {
    return { kind: 'reply', entry: entry.number, result: err({ kind: 'outcomeUnknown' }) }
  })
  return [{ ...next, unanswered: [] }, [...effects, ...responses]]
}

function sentAgain(event: QueueEvent): QueueEvent {
  if (event.kind !== 'outcomes') return event
  const isUnknown = (outcome: SentOutcome): boolean => !outcome.ok && outcome.error.kind === 'unanswered'
  const outcomes = event.outcomes.map((outcome) => (isUnknown(outcome) ? err({ kind: 'unsent' as const }) : outcome))
  return { ...event, outcomes }
}

function unsorted(queue: RemoteQueue, event: QueueEvent, moment: QueueMoment): Step {
  const [next, effects] = queueStep(queue, event, moment)
  if (event.kind !== 'outcomes') return [next, effects]
  const waited = new Set(queue.waiting.map(({ number }) => number))
  const isBack = ({ number }: { readonly number: number }): boolean => !waited.has(number)
  const waiting = [...next.waiting.filter((entry) => !isBack(entry)), ...next.waiting.filter(isBack)]
  return [{ ...next, waiting }, effects]
}

class AlwaysQuiet extends SenderTable {
  override isQuiet(): boolean {
    return true
  }
}

class NeverOvertaken extends SenderTable {
  override begin(sender: BatchSender, generation: number): boolean {
    return super.begin(sender, this.enter(sender, 0) ?? generation)
  }
}
