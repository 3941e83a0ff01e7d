import type { Entity, EntityId, EntityType, ServicePath, Tenant } from '../context/entity.js'
import type { Page, PathRange, Query } from '../context/query.js'
import type { UpdateElement, UpdateReply } from '../context/update.js'
import type { Outcome } from '../outcome.js'
import type { WordedReply } from '../partition/message.js'

/** Why the broker can not do now what it could do at another time; every API answers it with 503 [management 11.9]. */
export type Unavailable =
  | { readonly kind: 'mailboxFull' }
  | { readonly kind: 'partitionLost' }
  | { readonly kind: 'storageFull' }
  | { readonly kind: 'queriesFull' }

/** A type of entities with the names of their attributes, ascending [context 9]. */
export interface TypeSummary {
  readonly type: EntityType
  readonly entities: number
  readonly attributes: readonly string[]
}

/** An update of one entity as it came. */
export interface WordedUpdate {
  readonly tenant: Tenant
  readonly path: ServicePath
  readonly id: EntityId
  readonly body: string
  /** What the partition's interpreter is told beside the body. */
  readonly manner: number
}

export interface PartitionHealth {
  readonly total: number
  readonly ready: number
  readonly storageFull: boolean
}

/** The operations that the interfaces put into words; one per front end. */
export interface Broker {
  /**
   * Applies the elements, each in its partition, and answers when all are on disk: one reply per element, in their
   * order. Elements of one entity are applied in their order.
   */
  update(elements: readonly UpdateElement[]): Promise<Outcome<readonly UpdateReply[], Unavailable>>
  /**
   * Lets the partition of an id understand and answer an update in the words that it came in. Nothing when that is of no
   * use now, because the stages of requests are timed apart: then the update has to be read here.
   */
  updateInWords(words: WordedUpdate): Promise<Outcome<WordedReply, Unavailable>> | undefined
  /** The entities of one id, of one type or of every type, oldest first, from a snapshot. */
  entities(
    tenant: Tenant,
    paths: readonly PathRange[],
    id: EntityId,
    type: EntityType | undefined,
  ): Promise<Outcome<readonly Entity[], Unavailable>>
  /** One page of what a query matches, in its order over all partitions. */
  query(query: Query): Promise<Outcome<Page, Unavailable>>
  /** The types of the entities in these paths, ascending, the one of entities without type last. */
  types(tenant: Tenant, paths: readonly PathRange[]): Promise<Outcome<readonly TypeSummary[], Unavailable>>
  /** Asks every partition for a sign of life, with a time limit of one second. */
  health(): Promise<PartitionHealth>
}
