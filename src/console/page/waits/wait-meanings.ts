/** The resources that requests wait for, in the order in which an update needs them; reads need the last one. */
export const waitNames = ['request', 'mailbox', 'transaction', 'dbConnectionPool'] as const
export type WaitName = (typeof waitNames)[number]

/** What a wait is for, what a high value means, and the settings that help. */
export const waitMeanings: Readonly<
  Record<
    WaitName,
    { readonly title: string; readonly what: string; readonly high: string; readonly turn: readonly string[] }
  >
> = {
  request: {
    title: 'Permit to work',
    what: 'One of the permits to work; a request has none while a query thread or a context provider works for it.',
    high: 'More arrives than is finished; the other waits say where it is stuck.',
    turn: ['-reqPoolSize'],
  },
  mailbox: {
    title: 'Mailbox',
    what: "From entering a partition's mailbox until its thread takes it out.",
    high: "High while the write transaction's is low: the thread does not get to run, so the processors are busy.",
    turn: ['rigel reshard -partitions'],
  },
  transaction: {
    title: 'Write transaction',
    what: "Its partition's write transaction, while the turn before is under way.",
    high: 'A slow disk, or one partition with more writes than it can take.',
    turn: ['-writeConcern', 'rigel reshard -partitions'],
  },
  dbConnectionPool: {
    title: 'Read handle',
    what: 'One of the read handles of a partition.',
    high: 'Long scans, or a small pool.',
    turn: ['-dbPoolSize'],
  },
}
