import { statfsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { systemFaultText } from '../../faults.js'
import type { Log } from '../../observe/log/log.js'
import { err, ok, type Result } from '../../result.js'
import { forgotten, type LogName } from '../../storage/etcd/engine.js'
import type { ClusterSurvey } from '../../storage/etcd/log-thread.js'
import { knownCoordinator, knownRoutes, type NodeFacts } from '../../storage/etcd/node-facts.js'
import { exchangeMember, removeDraft } from '../../storage/folder/data-exchange.js'
import { type FolderMember, type MemberSettings, notedBy } from '../../storage/folder/member.js'
import type { LogSequence } from '../../storage/wal/record-log.js'
import { parseAddress } from '../membership/route-table.js'
import { fetchCheckpoint } from './checkpoint-fetch.js'
import type { LinkCaller } from './node-connection.js'

interface FetchedCopiesParts {
  /** The environments that follow logs. Nobody has them open. */
  readonly members: ReadonlyMap<LogName, FolderMember>
  /** The id of their folder. */
  readonly folder: string
  readonly settings: MemberSettings & {
    /** What is to stay free of the disk. */
    readonly keepFree_bytes: number
  }
  /** Refuses in words for the operator. */
  readonly survey: () => Promise<Result<ClusterSurvey, string>>
  /** Has the logs keep what comes behind these records from now on. Refuses in words for the operator. */
  readonly hold: (behind: Applied) => Promise<Result<undefined, string>>
  /** What this node shows to others. */
  readonly caller: LinkCaller
  readonly log: Log
}

/** The last record of each log that an environment has applied. */
type Applied = ReadonlyMap<LogName, LogSequence>

/** How long nothing may be had of any copy before the start is given up. */
const patience_ms = 30_000
const again_ms = 1000

/**
 * Has every environment begin where its log goes on: one that was away for too long, or is new, gets a copy of the file of
 * another node. Gives the last record that each has applied then. Refuses, in words for the operator, when no node gives a copy for
 * some time; what was fetched by then stays.
 */
export async function fetchCopies(parts: FetchedCopiesParts): Promise<Result<Applied, string>> {
  const copies = new BehindCopies(parts)
  await copies.look()
  for (let until = performance.now() + patience_ms; ; ) {
    const surveyed = await parts.survey()
    const behind = surveyed.ok ? copies.behind(surveyed.value) : []
    if (surveyed.ok && behind.length === 0) return ok(copies.applied)
    const fetched = surveyed.ok ? await copies.fetch(behind, surveyed.value.members) : surveyed
    if (fetched.ok) until = performance.now() + patience_ms
    else if (performance.now() > until) return fetched
    else await sleep(again_ms)
  }
}

/** A log that has forgotten what this node does not have. */
interface Behind {
  readonly log: LogName
  /** The node has to have everything up to this record. */
  readonly least: LogSequence
}

class BehindCopies {
  readonly #parts: FetchedCopiesParts
  readonly #applied = new Map<LogName, LogSequence>()

  constructor(parts: FetchedCopiesParts) {
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

  /** Fetches copies one after the other, until one cannot be had: then in words why. */
  async fetch(behind: readonly Behind[], nodes: readonly NodeFacts[]): Promise<Result<undefined, string>> {
    for (const { log, least } of behind) {
      const applied = this.#applied.get(log) ?? 0
      const what = `this node has applied record ${applied} of log ${log}, which begins at ${least + 1}`
      const begun_ms = performance.now()
      const fetched = await this.#fetchedFrom(log, least, nodes)
      if (!fetched.ok) return err(`${what}, and no other node gives a copy: ${fetched.error}`)
      const { node, bytes } = fetched.value
      const took_ms = Math.round(performance.now() - begun_ms)
      const copied = `${what}: it has fetched a copy of node ${node}`
      this.#parts.log.warn('cluster:behind', copied, { bytes, took_ms })
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
      if (applied < least) return err(`its copy has applied record ${applied}`)
      // What this node has said of itself lets the log forget more while the copy comes.
      const held = await this.#parts.hold(new Map([...this.#applied, [log, applied]]))
      if (!held.ok) return held
      for await (const done of exchangeMember(member, folder, pieces, settings)) step = done
      this.#applied.set(log, await notedBy(member, settings))
      return ok(bytes)
    } catch (fault) {
      removeDraft(member)
      return err(`${systemFaultText(fault)} (done by then: ${step})`)
    } finally {
      await pieces.return()
    }
  }

  /** Bytes that a copy may have. */
  #room(): number {
    const { members, settings } = this.#parts
    const [first] = members.values()
    const { bavail, bsize } = statfsSync(first?.path ?? '.')
    return Math.max(0, bavail * bsize - settings.keepFree_bytes)
  }
}

/** The other nodes, first of all the owner of the log: it has everything. */
function inOrder(nodes: readonly NodeFacts[], log: LogName, self: string): readonly NodeFacts[] {
  const route = knownRoutes(nodes).find(({ partition }) => partition === log)
  const owner = log === 'control' ? knownCoordinator(nodes)?.name : route?.node
  const others = nodes.filter(({ name }) => name !== self)
  return [...others.filter(({ name }) => name === owner), ...others.filter(({ name }) => name !== owner)]
}
