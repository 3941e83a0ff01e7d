import { err, ok, type Result } from '../../result.js'
import { isCount, jsonIn } from '../../unchecked-json.js'
import type { LogSequence } from '../wal/record-log.js'

/** The ownership of a partition's log by a node. */
export interface Ownership {
  readonly partition: number
  /** The sequence of the election record: a later owner has a greater one. */
  readonly epoch: LogSequence
}

/** What a member of a cluster publishes about itself. Membership and facts only decide which node tries to own a log. */
export interface NodeFacts {
  readonly name: string
  /** Its number in the cluster, 0 to 15, which it keeps. */
  readonly slot: number
  /** Where other nodes reach it, as `host:port`; empty where it does not listen to them. */
  readonly address: string
  /** The addresses of its machine: no node sends notifications to its ports there that are not for clients. */
  readonly hosts: readonly string[]
  readonly ports: readonly number[]
  /** The formats of records that it reads. */
  readonly formats: readonly number[]
  /** Members that it can not reach. */
  readonly unreachable: readonly string[]
  /** Whether it is about to end, and is to own nothing. */
  readonly isLeaving: boolean
  /** Whether its disk is full: it is to own nothing while other nodes have room. */
  readonly isFull: boolean
  readonly owns: readonly Ownership[]
  /** On the coordinating node, the sequence of its election record in the metadata log; otherwise 0. */
  readonly coordinates: LogSequence
}

/** A node that is listed in a cluster, whether it runs or not. */
export interface ListedNode {
  readonly name: string
  readonly slot: number
  /** The id of its data folder. */
  readonly folder: string
}

/** Whether a read shows everything that was acknowledged on any node, or at once what this node has. */
export type ReadMode = 'confirmed' | 'local'

/** The setting that lists the nodes of a cluster. */
export interface ClusterNodes {
  /** The number of replicas of each partition. */
  readonly replicas: number
  readonly nodes: readonly ListedNode[]
}

/** Who owns a partition, as far as is known. */
export interface Route extends Ownership {
  readonly node: string
  readonly address: string
}

/** The formats of records that this version reads. */
export const recordFormats: readonly number[] = [1]

const slots = 16
const format = 1

/** The owner of each partition: where two members name themselves, the one with the later election. */
export function knownRoutes(members: readonly NodeFacts[]): readonly Route[] {
  const routes = new Map<number, Route>()
  for (const { name: node, address, owns } of members) {
    for (const { partition, epoch } of owns) {
      const other = routes.get(partition)
      if (other === undefined || other.epoch < epoch) routes.set(partition, { partition, epoch, node, address })
    }
  }
  return [...routes.values()].sort((a, b) => a.partition - b.partition)
}

/** The coordinating node as far as is known: of two that say so of themselves, the one with the later election. */
export function knownCoordinator(members: readonly NodeFacts[]): NodeFacts | undefined {
  let known: NodeFacts | undefined
  for (const member of members) if (member.coordinates > (known?.coordinates ?? 0)) known = member
  return known
}

/** The names of all listed nodes. */
export function listedNames({ nodes }: ClusterNodes): readonly string[] {
  return nodes.map(({ name }) => name)
}

/** The text of the facts of a node in the engine. */
export function factsText(facts: NodeFacts): string {
  return JSON.stringify({ format, ...facts })
}

/** Parses the facts of a node; undefined when they are malformed or of another format. */
export function parseFacts(text: string): NodeFacts | undefined {
  const raw = objectOf(text)
  if (raw === undefined) return undefined
  const { name, slot, address, formats, unreachable, isLeaving, owns, coordinates } = raw
  if (typeof name !== 'string' || !isSlot(slot) || typeof address !== 'string') return undefined
  if (!isListOf(formats, isCount) || !isListOf(unreachable, isText) || !isListOf(owns, isOwnership)) return undefined
  if (typeof isLeaving !== 'boolean' || !isCount(coordinates)) return undefined
  const isFull = raw['isFull'] === true
  const [hosts, ports] = [listOf(raw['hosts'], isText), listOf(raw['ports'], isCount)]
  return {
    name,
    slot,
    address,
    hosts,
    ports,
    formats,
    unreachable,
    isLeaving,
    isFull,
    owns,
    coordinates: coordinates as LogSequence,
  }
}

/** Whether the facts that were read from the engine equal these. */
export function isSameFacts(standing: NodeFacts | undefined, facts: NodeFacts): boolean {
  return standing !== undefined && standingText(standing) === standingText(facts)
}

/** The text of facts that were read from the engine. */
function standingText(facts: NodeFacts): string {
  const text = factsText(facts)
  const read = parseFacts(text)
  return read === undefined ? text : factsText(read)
}

/** Where the settings of a cluster stand, below its prefix: its nodes are listed in the only one. */
export const settingsKey = 'setting/'
export const nodesKey = `${settingsKey}nodes`

/** The text of the setting, in which the number of replicas is named `copies`. */
export function nodesText(nodes: ClusterNodes): string {
  return JSON.stringify({ format, copies: nodes.replicas, nodes: nodes.nodes })
}

/** Parses the setting; undefined when it is malformed or of another format. */
export function parseNodes(text: string): ClusterNodes | undefined {
  const raw = objectOf(text)
  if (raw === undefined) return undefined
  const { copies: replicas, nodes } = raw
  if (!isCount(replicas) || replicas < 1 || !isListOf(nodes, isListed)) return undefined
  return { replicas, nodes }
}

/** Why a folder can not be a node of that name. */
export type ListingRefusal =
  /** The name belongs to another folder. */
  | { readonly kind: 'nameTaken'; readonly name: string }
  /** The folder is listed under another name. */
  | { readonly kind: 'folderListed'; readonly name: string }
  | { readonly kind: 'noSlot'; readonly nodes: number }

/** The setting of a cluster before its first node is listed. */
export const noNodes: ClusterNodes = { replicas: 3, nodes: [] }

/** The setting of a cluster with its first node. */
export function firstNode(name: string, folder: string): ClusterNodes {
  return { ...noNodes, nodes: [{ name, slot: 0, folder }] }
}

/** The setting with a node; unchanged if it was listed before. */
export function withNode(held: ClusterNodes, name: string, folder: string): Result<ClusterNodes, ListingRefusal> {
  const listed = held.nodes.find((node) => node.name === name)
  if (listed !== undefined) return listed.folder === folder ? ok(held) : err({ kind: 'nameTaken', name })
  const same = held.nodes.find((node) => node.folder === folder)
  if (same !== undefined) return err({ kind: 'folderListed', name: same.name })
  const taken = new Set(held.nodes.map(({ slot }) => slot))
  const slot = Array.from({ length: slots }, (_, number) => number).find((number) => !taken.has(number))
  if (slot === undefined) return err({ kind: 'noSlot', nodes: held.nodes.length })
  return ok({ ...held, nodes: [...held.nodes, { name, slot, folder }] })
}

/** The setting without a node; unchanged if it was not listed. */
export function withoutNode(held: ClusterNodes, name: string): ClusterNodes {
  const nodes = held.nodes.filter((node) => node.name !== name)
  return nodes.length === held.nodes.length ? held : { ...held, nodes }
}

function objectOf(text: string): Readonly<Record<string, unknown>> | undefined {
  const raw = jsonIn(text)
  if (typeof raw !== 'object' || raw === null) return undefined
  const members: Readonly<Record<string, unknown>> = { ...raw }
  return members['format'] === format ? members : undefined
}

function isListOf<Item>(raw: unknown, isItem: (item: unknown) => item is Item): raw is readonly Item[] {
  return Array.isArray(raw) && raw.every(isItem)
}

/** The items of a list; none when it is missing, as in the facts of a version without it. */
function listOf<Item>(raw: unknown, isItem: (item: unknown) => item is Item): readonly Item[] {
  return isListOf(raw, isItem) ? raw : []
}

function isText(raw: unknown): raw is string {
  return typeof raw === 'string'
}

function isSlot(raw: unknown): raw is number {
  return isCount(raw) && raw < slots
}

function isOwnership(raw: unknown): raw is Ownership {
  return (
    typeof raw === 'object' &&
    raw !== null &&
    'partition' in raw &&
    isCount(raw.partition) &&
    'epoch' in raw &&
    isCount(raw.epoch)
  )
}

function isListed(raw: unknown): raw is ListedNode {
  if (typeof raw !== 'object' || raw === null || !('name' in raw) || !('slot' in raw) || !('folder' in raw))
    return false
  return isText(raw.name) && isSlot(raw.slot) && isText(raw.folder)
}
