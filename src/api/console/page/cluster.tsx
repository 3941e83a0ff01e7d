import type { ClusterPartition, ClusterView, NodeView } from '../shapes.js'
import { countText } from './format.js'
import { countColumn, minor, textColumn } from './parts/columns.js'
import { type Column, DataTable } from './parts/data-table.js'
import { PageHead } from './parts/page-head.js'
import { Chip, FactList, type Tone } from './parts/small-parts.js'
import { Shown } from './parts/states.js'
import { useResource } from './session.js'

const path = '/admin/cluster'

/** The cluster of the broker: its nodes, the owners of the partitions, the lag of the replicas. */
export function ClusterPage() {
  const known = useResource<ClusterView>(path)
  return (
    <>
      <PageHead title="Cluster" curl={[path]} />
      <Shown known={known} what="The cluster">
        {(cluster) => <Cluster cluster={cluster} />}
      </Shown>
    </>
  )
}

function Cluster({ cluster }: { readonly cluster: ClusterView }) {
  const { nodes, partitions } = cluster
  const members = nodes.filter(({ isMember }) => isMember).length
  return (
    <>
      <FactList
        facts={[
          ['name', cluster.cluster],
          ['in etcd at', <code key="prefix">{cluster.prefix}</code>],
          ['this broker', cluster.node],
          ['coordinator', cluster.coordinator ?? <Chip tone="bad">nobody</Chip>],
          ['reads', cluster.reads],
          ['members', `${members} of ${nodes.length}`],
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

function stateOf({ isMember, isLeaving, unreachable = [] }: NodeView): readonly [tone: Tone, text: string] {
  if (!isMember) return ['bad', 'away']
  if (isLeaving) return ['warning', 'leaves']
  return unreachable.length > 0 ? ['warning', `does not reach ${unreachable.join(', ')}`] : ['good', 'member']
}

function NodeState({ node }: { readonly node: NodeView }) {
  const [tone, text] = stateOf(node)
  return <Chip tone={tone}>{text}</Chip>
}

const nodeColumns: readonly Column<NodeView>[] = [
  textColumn('node', ({ name }) => name),
  { name: 'state', cell: (node) => <NodeState node={node} />, order: (node) => stateOf(node)[1] },
  countColumn('owns', ({ owns }) => owns.length),
  countColumn('lease left, s', ({ leaseLeft_s }) => leaseLeft_s, minor),
  countColumn('slot', ({ slot }) => slot, minor),
  {
    name: 'address',
    cell: ({ address = '' }) => (address === '' ? <span class="quiet">–</span> : <code>{address}</code>),
    order: ({ address = '' }) => address,
    isMinor: true,
  },
]

const partitionColumns: readonly Column<ClusterPartition>[] = [
  countColumn('partition', ({ partition }) => partition),
  {
    name: 'owner',
    cell: ({ owner }) => owner ?? <Chip tone="bad">nobody</Chip>,
    order: ({ owner = '' }) => owner,
  },
  countColumn('since record', ({ since }) => since, minor),
  countColumn('last record', ({ last }) => last),
  {
    name: 'replicas, and records to apply at a start',
    cell: ({ replicas }) => replicas.map(({ node, behind }) => `${node} ${countText(behind)}`).join(' · ') || '–',
    order: ({ replicas }) => Math.max(0, ...replicas.map(({ behind }) => behind)),
    isMinor: true,
  },
]
