import { statfsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { systemFaultText } from '../../faults.js'
import type { Log } from '../../observe/log/log.js'
import { err, ok, type Result } from '../../result.js'
import { forgotten, type LogName } from '../../storage/etcd/engine.js'
import type { ClusterSurvey } from '../../storage/etcd/log-thread.js'
import { knownCoordinator, knownRoutes, type NodeFacts } from '../../storage/etcd/node-facts.js'
import { type FolderMember, type MemberSettings, notedBy } from '../../storage/folder/member.js'
import { removeDraft, swapMember } from '../../storage/folder/member-swap.js'
import type { LogSequence } from '../../storage/wal/record-log.js'
import { parseAddress } from '../membership/route-table.js'
import { fetchCheckpoint } from './checkpoint-fetch.js'
import type { LinkCaller } from './node-connection.js'

interface SnapshotTransferParts {
  /** The environments that follow logs. They must not be open. */
  readonly members: ReadonlyMap<LogName, FolderMember>
  /** The id of their folder. */
  readonly folder: string
  readonly settings: MemberSettings & {
    /** The free space that has to stay on the disk. */
    readonly keepFree_bytes: number
  }
  /** Refuses with a text for the operator. */
  readonly survey: () => Promise<Result<ClusterSurvey, string>>
  /** Has the logs keep all records behind these from now on. Refuses with a text for the operator. */
  readonly hold: (behind: Applied) => Promise<Result<undefined, string>>
  readonly caller: LinkCaller
  readonly log: Log
}

/** The last record of each log that an environment has applied. */
type Applied = ReadonlyMap<LogName, LogSequence>

/** How long a start goes on while no snapshot can be fetched. */
const patience_ms = 30_000
const again_ms = 1000

/**
 * Brings every environment to where its log goes on: one that is new or was away for too long gets a snapshot from another node.
 * Gives the last record that each has applied then. Refuses with a text for the operator when no node sends a snapshot for some
 * time; snapshots that were fetched before stay.
 */
export async function fetchSnapshots(parts: SnapshotTransferParts): Promise<Result<Applied, string>> {
  const replicas = new BehindReplicas(parts)
  await replicas.look()
  for (let until = performance.now() + patience_ms; ; ) {
    const surveyed = await parts.survey()
    const behind = surveyed.ok ? replicas.behind(surveyed.value) : []
    if (surveyed.ok && behind.length === 0) return ok(replicas.applied)
    const fetched = surveyed.ok ? await replicas.fetch(behind, surveyed.value.members) : surveyed
    if (fetched.ok) until = performance.now() + patience_ms
    else if (performance.now() > until) return fetched
    else await sleep(again_ms)
  }
}

/** A log that no longer holds all records that this node lacks. */
interface Behind {
  readonly log: LogName
  /** The last record that the log has forgotten: a fetched snapshot must have applied it. */
  readonly least: LogSequence
}

class BehindReplicas {
  readonly #parts: SnapshotTransferParts
  readonly #applied = new Map<LogName, LogSequence>()

  constructor(parts: SnapshotTransferParts) {
    this.#parts = parts
  }

  /** Finds out how far the environments are. */
  async look(): Promise<void> {
    const { members, settings } = this.#parts
    for (const [log, member] of members) {
      removeDraft(member)
      this.#applied.set(log, await notedBy(member, settings))
    }
  }

  get applied(): Applied {
    return this.#applied
  }

  behind({ extents }: ClusterSurvey): readonly Behind[] {
    return [...this.#applied].flatMap(([log, applied]) => {
      const extent = extents.get(log)
      const least = extent === undefined ? 0 : forgotten(extent)
      return applied < least ? { log, least: least as LogSequence } : []
    })
  }

  /** Fetches snapshots one after the other; refuses with the reason as a text at the first that cannot be had. */
  async fetch(behind: readonly Behind[], nodes: readonly NodeFacts[]): Promise<Result<undefined, string>> {
    for (const { log, least } of behind) {
      const applied = this.#applied.get(log) ?? 0
      const what = `this node has applied record ${applied} of log ${log}, which begins at ${least + 1}`
      const begun_ms = performance.now()
      const fetched = await this.#fetchedFrom(log, least, nodes)
      if (!fetched.ok) return err(`${what}, and no other node sends a snapshot: ${fetched.error}`)
      const { node, bytes } = fetched.value
      const took_ms = Math.round(performance.now() - begun_ms)
      const done = `${what}: it has fetched a snapshot from node ${node}`
      this.#parts.log.warn('cluster:behind', done, { bytes, took_ms })
    }
    return ok(undefined)
  }

  async #fetchedFrom(
    log: LogName,
    least: LogSequence,
    nodes: readonly NodeFacts[],
  ): Promise<Result<{ readonly node: string; readonly bytes: number }, string>> {
    const { caller } = this.#parts
    const reasons: string[] = []
    for (const { name, address } of inOrder(nodes, log, caller.self.node)) {
      const at = parseAddress(name, address)
      if (at === undefined) continue
      const fetched = await this.#taken(log, least, await fetchCheckpoint(at, caller, log, this.#room()))
      if (fetched.ok) return ok({ node: name, bytes: fetched.value })
      reasons.push(`node ${name}: ${fetched.error}`)
    }
    return err(reasons.length === 0 ? 'no other node is a member now' : reasons.join('; '))
  }

  async #taken(
    log: LogName,
    least: LogSequence,
    fetched: Awaited<ReturnType<typeof fetchCheckpoint>>,
  ): Promise<Result<number, string>> {
    const { members, folder, settings } = this.#parts
    const member = members.get(log)
    if (member === undefined) return err(`nobody follows log ${log} here`)
    if (!fetched.ok) return err(fetched.error.reason)
    const { applied, bytes, pieces } = fetched.value
    let step = 'nothing'
    try {
      if (applied < least) return err(`its snapshot has applied record ${applied}`)
      // The heartbeat of this node lets the log forget more records while the snapshot comes.
      const held = await this.#parts.hold(new Map([...this.#applied, [log, applied]]))
      if (!held.ok) return held
      for await (const done of swapMember(member, folder, pieces, settings)) step = done
      this.#applied.set(log, await notedBy(member, settings))
      return ok(bytes)
    } catch (fault) {
      removeDraft(member)
      return err(`${systemFaultText(fault)} (done by then: ${step})`)
    } finally {
      await pieces.return()
    }
  }

  /** The most bytes that a snapshot may have. */
  #room(): number {
    const { members, settings } = this.#parts
    const [first] = members.values()
    const { bavail, bsize } = statfsSync(first?.path ?? '.')
    return Math.max(0, bavail * bsize - settings.keepFree_bytes)
  }
}

/** The other nodes, the owner of the log first: it has all records. */
function inOrder(nodes: readonly NodeFacts[], log: LogName, self: string): readonly NodeFacts[] {
  const route = knownRoutes(nodes).find(({ partition }) => partition === log)
  const owner = log === 'control' ? knownCoordinator(nodes)?.name : route?.node
  const others = nodes.filter(({ name }) => name !== self)
  return [...others.filter(({ name }) => name === owner), ...others.filter(({ name }) => name !== owner)]
}
