import type { LiveFrame, LiveHello } from '../../src/api/console/live-frame.js'

/** A broker of two partitions, with four buckets of durations. */
export const givenHello: LiveHello = {
  version: '0.1.0',
  gitHash: 'nogitversion',
  host: 'here',
  processStart_ms: 1_000,
  interval_ms: 1_000,
  partitions: 2,
  isDurable: true,
  isReadOnly: false,
  durationBounds_s: [0.001, 0.01, 0.1],
  routes: [
    { name: 'unknown', updates: [], reads: [] },
    { name: '/v2/entities', updates: ['POST'], reads: ['GET'] },
    { name: 'console', updates: [], reads: [] },
  ],
  methods: ['GET', 'POST'],
  statusCodes: ['200', '404'],
  errorCodes: ['404'],
  rejections: ['overload'],
  forwardResults: ['ok'],
  threads: [
    { kind: 'frontEnd', number: 0 },
    { kind: 'partition', number: 0 },
    { kind: 'partition', number: 1 },
    { kind: 'courier', number: 0 },
    { kind: 'queryThread', number: 0 },
  ],
  mailboxSize: 1000,
  map_bytes: 1_000_000,
  keepFree_bytes: 0,
  memoryLimit_bytes: 1_000_000_000,
}

/** A frame in which nothing has happened yet, with what is changed. */
export function givenFrame(changed: Partial<LiveFrame> = {}): LiveFrame {
  return {
    processStart_ms: 1_000,
    sequence: 1,
    time_ms: 10_000,
    requests: [],
    sizes: [],
    errors: [],
    rejected: [0],
    forwards: [0],
    now: {
      connections: 0,
      inFlight: 0,
      permitsFree: 100,
      permitsTaken: 0,
      permitsQueued: 0,
      queriesWaiting: 0,
      queriesRunning: 0,
    },
    waits: null,
    partitions: {
      ...{ mailboxDepth: [0, 0], commits: [0, 0], commands: [0, 0], commit_s: [0, 0], logged_bytes: [0, 0] },
      ...{ entities: [5, 6], used_bytes: [100, 100], restarts: [0, 0], restarted_ms: [0, 0], isFull: [0, 0] },
    },
    distributions: [],
    threads: [
      [0, 0, 1, 1],
      [0, 0, 1, 1],
      [0, 0, 1, 1],
      [0, 0, 1, 1],
      [0, 0, 1, 1],
    ],
    deliveries: {
      accepted: 0,
      dropped: 0,
      simulated: 0,
      trouble: 0,
      refused: 0,
      attempts: [],
      queueWaits: [],
      outboxes: [[0, 0]],
      oldest_ms: null,
      backlogs: [],
    },
    alarms: {},
    alarmGroups: [],
    memory: { used_bytes: 1, resident_bytes: 1, left_bytes: 1 },
    disk: { free_bytes: 1_000_000, left_bytes: 1_000_000, fullestMap: 0.1 },
    logLinesDropped: 0,
    ...changed,
  }
}
