import type { ShownCluster } from './shown-cluster.js'

/** A cluster for people: what it is, its nodes, its partitions, and what is wrong with it, in lines. */
export function clusterText(shown: ShownCluster): string {
  const { cluster, prefix, nodes, partitions, coordinator, copies } = shown
  const members = nodes.filter(({ isMember }) => isMember).length
  const what =
    copies === undefined
      ? `one node, ${partitions.length} partitions`
      : `${nodes.length} nodes, ${members} of them members, ${partitions.length} partitions, coordinated by ${coordinator ?? 'none'}`
  const parts = [
    [`cluster ${cluster} at ${prefix}: ${what}`],
    copies === undefined ? [] : table(['node', 'slot', 'lease', 'owns', 'address'], nodeRows(shown)),
    table(['partition', 'owner', 'since', 'last', 'copies (records to apply at a start)'], partitionRows(shown)),
    troubles(shown),
  ]
  return `${parts
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n')}\n`
}

function nodeRows({ nodes }: ShownCluster): readonly (readonly string[])[] {
  return nodes.map(({ name, slot, isMember, leaseLeft_s, isLeaving, isFull, address, owns }) => {
    const lease = leaseLeft_s === undefined ? 'yes' : `${leaseLeft_s} s`
    const more = [...(isLeaving === true ? [', leaves'] : []), ...(isFull === true ? [', disk full'] : [])]
    const state = isMember ? [lease, ...more].join('') : 'none'
    return [name, `${slot}`, state, `${owns.length}`, address === undefined || address === '' ? '-' : address]
  })
}

function partitionRows({ partitions }: ShownCluster): readonly (readonly string[])[] {
  return partitions.map(({ partition, owner, since, last, copies }) => [
    `${partition}`,
    owner ?? '-',
    `${since ?? '-'}`,
    `${last}`,
    copies.map(({ node, behind }) => `${node} ${behind}`).join(', ') || '-',
  ])
}

/** What somebody has to look after. Of one node etcd alone does not say whether it runs. */
function troubles({ nodes, partitions, copies }: ShownCluster): readonly string[] {
  if (copies === undefined) return []
  const away = nodes
    .filter(({ isMember }) => !isMember)
    .map(({ name }) => `node ${name} is no member: it does not run, or does not reach etcd`)
  const cutOff = nodes.flatMap(({ name, unreachable = [] }) =>
    unreachable.length === 0 ? [] : `node ${name} does not reach ${unreachable.join(', ')}`,
  )
  const without = partitions.filter(({ owner }) => owner === undefined).map(({ partition }) => partition)
  const ownerless = without.length === 0 ? [] : [`no node owns partitions ${without.join(', ')}`]
  return [...away, ...cutOff, ...ownerless]
}

/** Lines with columns of the same width. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  const all = [head, ...rows]
  const widths = head.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)))
  return all.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}
