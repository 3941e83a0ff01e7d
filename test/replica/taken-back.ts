import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { build, type Plugin } from 'esbuild'
import { type Mend, sourceOf, sourceWithout } from '../mend.js'

/** A mend of a fault that the played nodes find. */
export interface PlayedMend extends Mend {
  /** The seed of the schedule that is played first, where earlier ones are known not to find it. */
  readonly first?: number
  /** The log that is played where it is not that of a partition. */
  readonly log?: 'control'
}

/** What plays the nodes of a program. */
type Played = Pick<typeof import('./played-logs.js'), 'PlayedLogs'> &
  Pick<typeof import('./played-nodes.js'), 'playNodes'>

const root = fileURLToPath(new URL('../../../', import.meta.url))

/** Faults that the played nodes have to find, whoever had found them first. */
export const mends: readonly PlayedMend[] = [
  {
    fault: 'an owner answers what changes nothing without a look at its read lease',
    first: 26,
    file: 'partition/mailbox/turn-runner.ts',
    now: 'if (!isLogged && !this.#isConfirmed(batch))',
    before: 'if (!isLogged && batch.length === 0)',
  },
  {
    fault: 'the election record of a dead thread and that of its successor are offered in one request',
    first: 14,
    file: 'storage/etcd/appender.ts',
    now: 'if (isEnough || this.#busy.has(log)) {',
    before: 'if (isEnough) {',
  },
  {
    fault: 'an offer that was taken without a response is fenced by itself',
    first: 5,
    file: 'storage/etcd/etcd-engine.ts',
    now: 'if (standing !== undefined && isOwn(standing.value)) return ok(sequence)',
    before: 'if (standing !== undefined && standing.value.length === 0 && isOwn(standing.value)) return ok(sequence)',
  },
  {
    fault: 'an elected node does not wait for the read lease before',
    first: 23,
    file: 'partition/replica/read-lease.ts',
    now: 'return mayHoldLease ? before.received + leaseMost_ns : 0n',
    before: 'return mayHoldLease && before.received < 0n ? leaseMost_ns : 0n',
  },
  {
    fault: 'a full etcd is taken for a full disk',
    file: 'storage/store/logged-store.ts',
    now: "if (appended.error.kind === 'diskFull') this.disk.wasFull()",
    before: 'if (appended.error.kind) this.disk.wasFull()',
  },
  {
    fault: 'a record that etcd has taken is refused since etcd says that it is full',
    first: 18,
    file: 'storage/etcd/etcd-engine.ts',
    now: "if (kind === 'full') return this.#taken(offers)",
    before: "if (kind === 'full') return ok(offers.map(() => err({ kind: 'etcdFull' })))",
  },
  {
    fault: 'a log that is given up in an orderly end is a fault',
    first: 4,
    file: 'partition/replica/replica.ts',
    now: "if (fault instanceof LogGivenUp) this.#take({ kind: 'givenUp' })",
    before: "if (fault instanceof LogGivenUp && fault.message === '') this.#take({ kind: 'givenUp' })",
  },
  {
    fault: 'a turn that is given up in an orderly end is said not to be carried out',
    first: 593,
    file: 'partition/mailbox/turn-runner.ts',
    now: 'if (fault instanceof LogGivenUp) {',
    before: "if (fault instanceof LogGivenUp && fault.message === '') {",
  },
  {
    fault: 'an owner says how far it is when its snapshots show it',
    file: 'partition/replica/replica.ts',
    now: 'this.#parts.position.committed(this.#parts.wal.last)',
    before: 'void this.#parts.position.commitIndex',
  },
  {
    // Noted with each record, and not with each hundredth: schedules are short.
    fault: 'records that change nothing pass over published turns',
    file: 'storage/store/partition-store.ts',
    now: `this.applyPublished()
    if (this.#publisher?.last === undefined) super.pass(last)`,
    before: 'this.logged.apply(last, () => {})',
  },
  {
    fault: 'turns that were published are taken for applied although their transaction has thrown',
    first: 4,
    file: 'storage/store/turn-publisher.ts',
    now: 'transaction((environment, outbox) => this.#unapplied.write(environment, outbox))',
    before: `try {
        transaction((environment, outbox) => this.#unapplied.write(environment, outbox))
      } catch {}`,
  },
  {
    fault: 'a turn that stands in the log is said not to be carried out, since it could not be applied',
    first: 22,
    file: 'storage/store/logged-store.ts',
    now: 'if (!(fault instanceof DiskFault)) this.wal.retract(sequence)',
    before: '',
  },
  {
    fault: 'what a dead thread has published is not recovered',
    first: 3,
    file: 'storage/etcd/cluster-log.ts',
    now: 'this.#shown = shown as LogSequence',
    before: 'this.#shown = shown = applied',
  },
  {
    fault: 'the read lease of an owner whose machine has slept is not over',
    first: 5,
    file: 'threads/shared-memory/partition-position.ts',
    now: 'Atomics.load(this.#cells, dateCell) > BigInt(Date.now())',
    before: 'Atomics.load(this.#cells, dateCell) > 0n',
  },
  {
    fault: 'the read lease of an owner whose date was put back is not over',
    first: 23,
    file: 'threads/shared-memory/partition-position.ts',
    now: 'Atomics.load(this.#cells, untilCell) > process.hrtime.bigint() &&',
    before: 'Atomics.load(this.#cells, untilCell) > 0n &&',
  },
  {
    fault: 'a response to an earlier read of the log is taken for that to the last one',
    file: 'partition/replica/transitions.ts',
    now: "if (role.kind !== 'follows' || !role.isReading || read !== state.reads) return just(state)",
    before: "if (role.kind !== 'follows' || read < 0) return just(state)",
  },
  {
    fault: 'an election after a close is kept',
    first: 31,
    file: 'partition/replica/transitions.ts',
    now: 'state.isToOwn ? wentOn(elected) : left(elected)',
    before: 'wentOn(elected)',
  },
  {
    fault: 'a release during the wait is as good as one after it',
    first: 3,
    file: 'partition/replica/transitions.ts',
    now: "if (role.kind === 'elected' && !mayOwn(state)) return lost(state, 'released')",
    before: '',
  },
  {
    fault: 'what there is no room for is left out',
    first: 4,
    file: 'partition/replica/transitions.ts',
    now: 'return state.isToClose ? wentOn(toApply(state))',
    before: 'return state.isToClose || state ? wentOn({ ...state, applying: undefined })',
  },
  {
    fault: 'an election behind that of a process before it, of the same node, waits for nobody',
    first: 237,
    file: 'partition/replica/read-lease.ts',
    now: 'before.node !== node || before.isElection',
    before: 'before.node !== node',
  },
  {
    fault: 'a node that has lost its lease does not join again',
    file: 'cluster/membership/membership.ts',
    now: 'if (!this.#hasLeft) this.#parts.isMember(false)',
    before: 'if (!this.#hasLeft) return this.#parts.isMember(false)',
  },
  {
    fault: 'a node that is slow to renew its lease takes itself for a member for ever',
    file: 'storage/etcd/etcd-nodes.ts',
    now: 'if (left_s === 0 || performance.now() - renewed_ms > ttl_ms) return end()',
    before: 'if (performance.now() < renewed_ms) return end()',
  },
  {
    fault: 'what a node has said before stands, since a request was carried out that was given up',
    first: 175,
    file: 'storage/etcd/etcd-nodes.ts',
    now: 'if (standing !== undefined && !isSameFacts(standing.own, meant)) untold ??= meant',
    before: 'if (standing !== undefined && !isSameFacts(meant, meant)) untold ??= meant',
  },
  {
    fault: 'a watch that has broken is not begun again',
    file: 'storage/etcd/key-watch.ts',
    now: 'const ended = (_fault: CallFault): void => this.#later()',
    before: 'const ended = (_fault: CallFault): void => {}',
  },
  {
    fault: 'a change is answered that is not in force here',
    log: 'control',
    file: 'storage/store/metadata-store.ts',
    now: 'if (inForce === undefined || (change.writes ?? []).length === 0) done()',
    before: 'if (inForce === undefined || change.writes !== undefined) done()',
  },
  {
    fault: 'changes come into force in another order than that of the log',
    log: 'control',
    file: 'partition/replica/metadata-replica.ts',
    now: `this.#enforced = this.#enforced
      .then(() => enforce(change))`,
    before: 'this.#enforced = enforce(change)',
  },
  {
    fault: 'a process goes on although a change could not come into force in it',
    first: 5,
    log: 'control',
    file: 'partition/replica/metadata-replica.ts',
    now: `this.#hasFailed = true
        failed(fault)`,
    before: 'void fault',
  },
  {
    fault: 'what stands behind a change that could not come into force is said to be in force',
    first: 91,
    log: 'control',
    file: 'partition/replica/metadata-replica.ts',
    now: 'if (this.#hasFailed) return',
    before: '',
  },
  {
    fault: 'a heartbeat record is appended while a change is',
    first: 8,
    log: 'control',
    file: 'partition/replica/metadata-replica.ts',
    now: 'store.inTurn(() => wal.appendEmpty(record))',
    before: 'wal.appendEmpty(record)',
  },
  {
    fault: 'a change that came with others is said to be refused, and nobody knows whether it stands',
    first: 188,
    log: 'control',
    file: 'storage/store/metadata-store.ts',
    now: 'if (batch.length === 1 || fault instanceof LogGivenUp || fault instanceof DiskFault) {',
    before: 'if (batch.length === 1 || fault instanceof DiskFault) {',
  },
]

/** The played nodes of a program without a mend, in a folder of their own. */
export async function withoutMend(mend: Mend, folder: string): Promise<Played> {
  const contents = sourceWithout(mend)
  const takenBack: Plugin = {
    name: 'taken back',
    setup: ({ onLoad }) => {
      onLoad({ filter: /\.ts$/ }, ({ path: loaded }) => {
        return loaded === sourceOf(mend) ? { contents, loader: 'ts' } : undefined
      })
    },
  }
  const of = (name: string): string => join(root, 'test/replica', `${name}.ts`)
  await build({
    ...{ entryPoints: [of('played-nodes'), of('played-logs'), of('played-log-thread')], outdir: folder, bundle: true },
    ...{ format: 'esm', platform: 'node', target: 'node20.15', packages: 'external' },
    ...{ splitting: false, plugins: [takenBack], logLevel: 'silent', absWorkingDir: root },
  })
  const loaded = (name: string) => import(pathToFileURL(join(folder, `${name}.js`)).href)
  return { ...(await loaded('played-logs')), ...(await loaded('played-nodes')) }
}
