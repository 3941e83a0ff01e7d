import type { LmdbPartitionStore } from '../../src/lmdb/partition-store.js'
import type { InboxParts } from '../../src/mailbox/inbox.js'
import { Measures } from '../../src/measure/measures.js'
import { Bell } from '../../src/shared-memory/bell.js'
import { id, matcher, noDamages, noWords, silentLog, versions } from '../given.js'
import { givenSteps } from '../given-steps.js'

const unmeasured = { on: false, free: () => {}, waited: () => {} }

/** What an inbox on a store is made of; a test puts its own in the place of what it looks at. */
export function inboxParts(store: LmdbPartitionStore) {
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
