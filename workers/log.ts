import { Appender } from '../src/cluster/appender.js'
import { readClusterState } from '../src/cluster/cluster-state.js'
import { CopyCheckpoints, checkpointsText } from '../src/cluster/copy-checkpoints.js'
import type { Extent, LogName } from '../src/cluster/engine.js'
import { EngineMembers } from '../src/cluster/engine-members.js'
import { EngineWatch } from '../src/cluster/engine-watch.js'
import { EtcdClient } from '../src/cluster/etcd-client.js'
import { EtcdEngine } from '../src/cluster/etcd-engine.js'
import { EtcdNodes, type Following } from '../src/cluster/etcd-nodes.js'
import { LogService } from '../src/cluster/log-service.js'
import type { ClusterSurvey, LogInstruction, LogReport, LogTask } from '../src/cluster/log-thread.js'
import { listed, Membership, watchListed } from '../src/cluster/membership.js'
import { listedNames, type NodeFacts } from '../src/cluster/node-facts.js'
import { standingCluster } from '../src/cluster/standing-cluster.js'
import { workerLog } from '../src/log/worker-log.js'
import { FigureTable } from '../src/measure/figure-table.js'
import { copyFigures, engineFigures } from '../src/measure/figures.js'
import { err, ok, type Result } from '../src/result.js'
import type { ThreadPorts } from '../src/runtime/tasks.js'
import { Switches } from '../src/shared-memory/switches.js'
import { ThreadBeats } from '../src/shared-memory/thread-beats.js'
import { onMessages } from '../src/thread/messages.js'

/** The thread that has the connection to the engine of a cluster: appends what the threads of partitions hand over. */
export default async function log(task: LogTask & ThreadPorts): Promise<void> {
  const { control, etcd, prefix, node, heldMost_bytes } = task
  const lines = workerLog(task.log, new Switches(task.switches))
  const beats = task.beats && new ThreadBeats(task.beats)
  const stopWatching = beats?.watch(beats.rows - 1)
  const watch = new EngineWatch(new FigureTable(engineFigures, task.measures).row(0), lines)
  const copies = new FigureTable(copyFigures, task.copies)
  const engine = new EtcdEngine(etcd, prefix)
  const report = (said: LogReport): void => control.postMessage(said)
  const service = new LogService({
    engine,
    appender: new Appender(engine, watch),
    node,
    heldMost_bytes,
    givenUp: () => report({ kind: 'givenUp' }),
    fenced: (log, last) => {
      watch.fenced()
      report({ kind: 'fenced', log, last })
    },
    neglected: (what, reason) => watch.neglected(what, reason),
  })
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
    told: (urls) => report({ kind: 'engineUrls', urls }),
    refused: (reason) =>
      warnOnce(`etcd does not say where its members are, so only -clusterUrl is kept from notifications: ${reason}`),
  })
  const following = engineMembers.follow(isOver.signal)
  let membership: Membership | undefined
  let listing: Following | undefined
  const joined = (self: NodeFacts): Membership =>
    new Membership(self, {
      nodes,
      changed: (members) => report({ kind: 'members', members }),
      isMember: (isMember) => report({ kind: 'isMember', isMember }),
      log: lines,
    })
  report({ kind: 'ready' })
  await new Promise<void>((ended) => {
    onMessages(control, async (instruction: LogInstruction) => {
      switch (instruction.kind) {
        case 'describe': {
          const state = await standingCluster(client, prefix, warnOnce)
          await engineMembers.look()
          return report({ kind: 'described', state })
        }
        case 'list':
          return report({ kind: 'listed', nodes: await listed(nodes, { node, folder: instruction.folder }) })
        case 'tell':
          if (membership === undefined) membership = joined(instruction.self)
          else membership.tell(instruction.self)
          return
        case 'leave':
          await membership?.leave()
          return report({ kind: 'left' })
        case 'readState':
          return report({ kind: 'state', state: await readClusterState(client, prefix) })
        case 'begin': {
          const begun = await engine.begin(instruction.description, instruction.after, instruction.nodes)
          return report({ kind: 'begun', isNew: begun.ok ? begun : err(begun.error.reason) })
        }
        case 'claim':
          return report({ kind: 'claimed', claimed: await service.claim(instruction.logs) })
        case 'follow': {
          const checkpoints = new CopyCheckpoints(nodes, node, listedNames(instruction.nodes), instruction.applied)
          service.follow(checkpoints, (log, last) => {
            if (log !== 'control' && log < copies.rows) copies.row(log).put('head', last)
          })
          listing = watchListed(nodes, (held) => {
            checkpoints.list(listedNames(held))
            report({ kind: 'nodes', nodes: held })
          })
          return
        }
        case 'survey':
          return report({ kind: 'surveyed', survey: await surveyed(engine, nodes, instruction.logs) })
        case 'hold': {
          const told = await nodes.tellCheckpoints(node, checkpointsText(instruction.behind))
          return report({ kind: 'held', held: told.ok ? told : err(told.error.reason) })
        }
        case 'serve':
          return service.serve(instruction.end)
        case 'ending':
          return service.end(instruction.patience_ms)
        case 'end':
          isOver.abort()
          service.close()
          listing?.stop()
          await membership?.leave()
          client.close()
          ended()
      }
    })
  })
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
