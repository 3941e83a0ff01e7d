import { countText } from '../format.js'
import { type Column, DataTable } from '../parts/data-table.js'
import { FactList } from '../parts/fact-list.js'
import { PageHead } from '../parts/page-head.js'
import { Chip, type Tone } from '../parts/small-parts.js'
import { Shown } from '../parts/states.js'
import { useResource } from '../resource.js'
import { type ReadCluster, type ReadNode, type ReadPartition, readCluster } from './cluster-reading.js'

const path = '/admin/cluster'

/** The cluster of the broker: its nodes, who owns which partition, how far the copies are. */
export function ClusterPage() {
  const known = useResource(path, readCluster)
  return (
    <>
      <PageHead title="Cluster" curl={[path]} />
      <Shown known={known} what="The cluster">
        {(cluster) => <Cluster cluster={cluster} />}
      </Shown>
    </>
  )
}

function Cluster({ cluster }: { readonly cluster: ReadCluster }) {
  const { nodes, partitions } = cluster
  const members = nodes.filter(({ isMember }) => isMember).length
  return (
    <>
      <FactList
        facts={[
          ['name', cluster.cluster],
          ['in etcd at', <code key="prefix">{cluster.prefix}</code>],
          ['this broker', cluster.node],
          ['coordinator', cluster.reads && (cluster.coordinator ?? <Chip tone="bad">nobody</Chip>)],
          ['reads', cluster.reads],
          ['members', cluster.reads && `${members} of ${nodes.length}`],
        ]}
      />
      <section aria-labelledby="nodes">
        <h2 id="nodes">Nodes</h2>
        <DataTable
          caption="Nodes"
          columns={nodeColumns}
          rows={nodes}
          keyOf={({ name }) => name}
          empty="No node is listed."
        />
      </section>
      <section aria-labelledby="partitions">
        <h2 id="partitions">Partitions</h2>
        <DataTable
          caption="Partitions"
          columns={partitionColumns}
          rows={partitions}
          keyOf={({ partition }) => String(partition)}
          empty="There are no partitions."
        />
      </section>
    </>
  )
}

function stateOf({ isMember, isLeaving, unreachable = [] }: ReadNode): readonly [tone: Tone, text: string] {
  if (!isMember) return ['bad', 'away']
  if (isLeaving) return ['warning', 'leaves']
  return unreachable.length > 0 ? ['warning', `does not reach ${unreachable.join(', ')}`] : ['good', 'member']
}

function NodeState({ node }: { readonly node: ReadNode }) {
  const [tone, text] = stateOf(node)
  return <Chip tone={tone}>{text}</Chip>
}

const nodeColumns: readonly Column<ReadNode>[] = [
  { name: 'node', cell: ({ name }) => name, order: ({ name }) => name },
  { name: 'state', cell: (node) => <NodeState node={node} />, order: (node) => stateOf(node)[1] },
  { name: 'owns', cell: ({ owns }) => countText(owns.length), order: ({ owns }) => owns.length, isNumber: true },
  {
    name: 'lease left, s',
    cell: ({ leaseLeft_s }) => leaseLeft_s ?? '–',
    order: ({ leaseLeft_s = -1 }) => leaseLeft_s,
    isNumber: true,
    isMinor: true,
  },
  { name: 'slot', cell: ({ slot }) => slot, order: ({ slot }) => slot, isNumber: true, isMinor: true },
  {
    name: 'address',
    cell: ({ address = '' }) => (address === '' ? <span class="quiet">–</span> : <code>{address}</code>),
    order: ({ address = '' }) => address,
    isMinor: true,
  },
]

const partitionColumns: readonly Column<ReadPartition>[] = [
  { name: 'partition', cell: ({ partition }) => partition, order: ({ partition }) => partition, isNumber: true },
  {
    name: 'owner',
    cell: ({ owner }) => owner ?? <Chip tone="bad">nobody</Chip>,
    order: ({ owner = '' }) => owner,
  },
  {
    name: 'since record',
    cell: ({ since }) => (since === undefined ? '–' : countText(since)),
    order: ({ since = 0 }) => since,
    isNumber: true,
    isMinor: true,
  },
  { name: 'last record', cell: ({ last }) => countText(last), order: ({ last }) => last, isNumber: true },
  {
    name: 'copies, and records to apply at a start',
    cell: ({ copies }) => copies.map(({ node, behind }) => `${node} ${countText(behind)}`).join(' · ') || '–',
    order: ({ copies }) => Math.max(0, ...copies.map(({ behind }) => behind)),
    isMinor: true,
  },
]
