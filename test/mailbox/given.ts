import type { Test } from 'tap'
import { Measures } from '../../src/observe/measure/measures.js'
import type { InboxParts } from '../../src/partition/mailbox/inbox.js'
import type { Command } from '../../src/partition/turn/commands.js'
import type { PartitionStore } from '../../src/storage/store/partition-store.js'
import { Bell } from '../../src/threads/shared-memory/signals.js'
import { command, given, id, matcher, noDamages, noWords, origin, root, silentLog, versions } from '../given.js'
import { givenSteps } from '../given-steps.js'

const unmeasured = { on: false, free: () => {}, waited: () => {} }

/** What an inbox on a store is made of; a test puts its own in the place of what it looks at. */
export function inboxParts(store: PartitionStore) {
  return {
    store,
    interpret: noWords,
    idOf: ({ body }) => id(body),
    matcher: matcher(),
    versions: versions(),
    bell: new Bell(),
    storage: Measures.make({ frontEnds: 1, partitions: 1, queryThreads: 1 }).storage(0),
    steps: givenSteps(),
    mailboxWait: unmeasured,
    transactionWait: unmeasured,
    partition: 0,
    keepsSlow: () => false,
    log: silentLog,
    damages: noDamages,
    deprecated: { note: () => undefined },
  } satisfies InboxParts
}

/** Has the clock stand still until the test ends, so that no turn ends because the machine is slow. */
export function stillClock(t: Test): void {
  const { now } = performance
  const at_ms = performance.now()
  performance.now = () => at_ms
  t.teardown(() => {
    performance.now = now
  })
}

/** Longer than the share that a request has of a turn. */
export const slow_ms = 6

/** Raw updates are names of entities; it takes long to parse one that begins with `Slow`. */
export const slowWords: InboxParts['interpret'] = ({ body }) => {
  const until_ms = performance.now() + (body.startsWith('Slow') ? slow_ms : 0)
  while (performance.now() < until_ms);
  const element = command('APPEND', body, [given('level', '1')])
  return { kind: 'update', element, render: () => ({ kind: 'rawUpdate', accepted: true, text: body }) }
}

/** Elements of one request, each of which is slow unless it has another name. */
export function slowElements(count: number, name = (n: number) => `Slow${n}`): readonly Command[] {
  const ofRequest = { ...origin, correlator: 'slow' }
  const { time } = command('APPEND', name(0), [])
  return Array.from({ length: count }, (_, n) => {
    const { sequence, tenant } = command('APPEND', name(n), [])
    return { kind: 'rawUpdate', sequence, time, tenant, path: root, body: name(n), flags: 0, origin: ofRequest }
  })
}
