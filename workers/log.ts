import { Membership } from '../src/cluster/membership/membership.js'
import { workerLog } from '../src/observe/log/worker-log.js'
import { FigureTable } from '../src/observe/measure/figure-table.js'
import { engineFigures, replicaFigures } from '../src/observe/measure/figures.js'
import { err, ok, type Result } from '../src/result.js'
import type { ThreadPorts } from '../src/runtime/tasks.js'
import { Appender } from '../src/storage/etcd/appender.js'
import { readClusterState, standingCluster } from '../src/storage/etcd/cluster-state.js'
import type { Extent, LogName } from '../src/storage/etcd/engine.js'
import { EngineMembers, EngineWatch } from '../src/storage/etcd/engine-watch.js'
import { EtcdClient } from '../src/storage/etcd/etcd-client.js'
import { EtcdEngine } from '../src/storage/etcd/etcd-engine.js'
import { EtcdNodes, type Following } from '../src/storage/etcd/etcd-nodes.js'
import { LogService } from '../src/storage/etcd/log-service.js'
import {
  type ClusterSurvey,
  type LogEvents,
  type LogOperations,
  type LogTask,
  logEvents,
  logOperations,
} from '../src/storage/etcd/log-thread.js'
import { listedNames, type NodeFacts } from '../src/storage/etcd/node-facts.js'
import { patientCalls } from '../src/storage/etcd/patient-calls.js'
import { checkpointsText, ReplicaCheckpoints } from '../src/storage/etcd/replica-checkpoints.js'
import { linkOver } from '../src/threads/calls/link.js'
import { methodsOf } from '../src/threads/calls/service.js'
import { Switches } from '../src/threads/shared-memory/switches.js'
import { ThreadBeats } from '../src/threads/shared-memory/thread-beats.js'

/** The thread with the connection to etcd: appends the records that the threads of partitions hand over. */
export default async function log(task: LogTask & ThreadPorts): Promise<void> {
  const { control, etcd, prefix, node, heldMost_bytes } = task
  const lines = workerLog(task.log, new Switches(task.switches))
  const beats = task.beats && new ThreadBeats(task.beats)
  const stopWatching = beats?.watch(beats.rows - 1)
  const watch = new EngineWatch(new FigureTable(engineFigures, task.measures).row(0), lines)
  const replicas = new FigureTable(replicaFigures, task.replicas)
  const engine = new EtcdEngine(etcd, prefix)
  const appender = new Appender(engine, watch)
  let service: LogService | undefined
  const isOver = new AbortController()
  const probing = watch.probe(engine, isOver.signal)
  const client = new EtcdClient(etcd)
  const nodes = new EtcdNodes(client, prefix)
  const warned = new Set<string>()
  const warnOnce = (line: string): void => {
    if (!warned.has(line)) lines.warn('cluster:etcd', line)
    warned.add(line)
  }
  const engineMembers = new EngineMembers({
    client,
    told: (urls) => main.engineUrls(urls),
    failed: (reason) =>
      warnOnce(`etcd does not say where its members are, so only -clusterUrl is kept from notifications: ${reason}`),
  })
  const following = engineMembers.follow(isOver.signal)
  let membership: Membership | undefined
  let listing: Following | undefined
  const joined = (self: NodeFacts): Membership =>
    new Membership(self, {
      nodes,
      changed: (members) => main.members(members),
      isMember: (isMember) => main.isMember(isMember),
      taken: (address) => main.taken(address),
      log: lines,
    })
  let ended = (): void => {}
  const over = new Promise<void>((resolve) => {
    ended = resolve
  })
  const operations: LogOperations = {
    describe: async () => {
      const state = await standingCluster(client, prefix, warnOnce)
      await engineMembers.look()
      return state
    },
    list: (folder) => new EtcdNodes(patientCalls(client), prefix).list({ node, folder }),
    tell: (self) => {
      if (membership === undefined) membership = joined(self)
      else membership.tell(self)
    },
    leave: async () => {
      await membership?.leave()
    },
    readState: () => readClusterState(client, prefix),
    begin: async ({ description, after, nodes }) => {
      const begun = await new EtcdEngine(etcd, prefix, patientCalls(client)).begin(description, after, nodes)
      return begun.ok ? begun : err(begun.error.reason)
    },
    follow: (kept, applied) => {
      const checkpoints = new ReplicaCheckpoints(nodes, node, listedNames(kept), applied)
      service = new LogService({
        ...{ engine, appender, node, checkpoints, heldMost_bytes },
        heard: (log, last) => {
          if (log !== 'control' && log < replicas.rows) replicas.row(log).put('head', last)
        },
        givenUp: () => main.givenUp(),
        fenced: () => watch.fenced(),
        neglected: (what, reason) => watch.neglected(what, reason),
      })
      listing = nodes.watchListed((held) => {
        checkpoints.list(listedNames(held))
        main.nodes(held)
      })
    },
    survey: (logs) => surveyed(engine, nodes, logs),
    hold: async (behind) => {
      const written = await nodes.tellCheckpoints(node, checkpointsText(behind))
      return written.ok ? written : err(written.error.reason)
    },
    serve: (port, end) => {
      if (service === undefined) throw new Error(`log ${end.log} is opened before the node follows the logs`)
      service.serve({ ...end, port })
    },
    ending: (patience_ms) => service?.end(patience_ms),
    end: async () => {
      isOver.abort()
      service?.close()
      appender.close()
      engine.close()
      listing?.stop()
      await membership?.leave()
      client.close()
      ended()
    },
  }
  const main = linkOver<LogEvents>(control, logEvents, methodsOf(operations, logOperations))
  await over
  await Promise.all([probing, following])
  stopWatching?.()
  control.close()
  lines.flush()
  task.log.close()
}

async function surveyed(
  engine: EtcdEngine,
  nodes: EtcdNodes,
  logs: readonly LogName[],
): Promise<Result<ClusterSurvey, string>> {
  const members = await nodes.members()
  if (!members.ok) return err(members.error.reason)
  const extents = new Map<LogName, Extent>()
  for (const log of logs) {
    const extent = await engine.extent(log)
    if (!extent.ok) return err(extent.error.reason)
    if (extent.value !== undefined) extents.set(log, extent.value)
  }
  return ok({ extents, members: members.value })
}
