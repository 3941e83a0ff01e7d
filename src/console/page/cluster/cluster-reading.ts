import { type Reader, readFlag, readList, readMembers, readNumber, readOptional, readText } from '../raw.js'

/** A node of the cluster; what only members have is missing of others. */
export interface ReadNode {
  readonly name: string
  readonly slot: number
  readonly isMember: boolean
  readonly owns: readonly number[]
  readonly leaseLeft_s: number | undefined
  readonly isLeaving: boolean | undefined
  readonly address: string | undefined
  readonly unreachable: readonly string[] | undefined
}

export interface ReadPartition {
  readonly partition: number
  readonly owner: string | undefined
  readonly since: number | undefined
  readonly last: number
  readonly copies: readonly { readonly node: string; readonly behind: number }[]
}

/** What `/admin/cluster` says. */
export interface ReadCluster {
  readonly cluster: string
  readonly prefix: string
  readonly node: string | undefined
  readonly coordinator: string | undefined
  readonly reads: string | undefined
  readonly nodes: readonly ReadNode[]
  readonly partitions: readonly ReadPartition[]
}

/** Reads `/admin/cluster`. */
export const readCluster: Reader<ReadCluster> = readMembers({
  cluster: readText,
  prefix: readText,
  node: readOptional(readText),
  coordinator: readOptional(readText),
  reads: readOptional(readText),
  nodes: readList(
    readMembers({
      ...{ name: readText, slot: readNumber, isMember: readFlag, owns: readList(readNumber) },
      leaseLeft_s: readOptional(readNumber),
      isLeaving: readOptional(readFlag),
      address: readOptional(readText),
      unreachable: readOptional(readList(readText)),
    }),
  ),
  partitions: readList(
    readMembers({
      ...{ partition: readNumber, last: readNumber },
      owner: readOptional(readText),
      since: readOptional(readNumber),
      copies: readList(readMembers({ node: readText, behind: readNumber })),
    }),
  ),
})
