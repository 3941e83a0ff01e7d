import { type Baseline, CounterTable, type CounterTableMemory } from '../../threads/shared-memory/counter-table.js'
import type { Nanoseconds } from '../../time.js'
import { maxRoutes, verbs } from './counted-routes.js'

/** A counter of the statistics [management 4.4, 4.5]. */
export interface CounterRow {
  readonly name: string
  /** The name in the nested part of the response, where it differs. */
  readonly later?: string
  /** The part of the response that shows it; absent: the flat and the nested one. */
  readonly only?: 'flat' | 'nested' | 'deprecated'
}

/** Every counter, in the order of the response. */
export const counterRows = [
  { name: 'jsonRequests' },
  { name: 'textRequests', only: 'nested' },
  { name: 'noPayloadRequests', only: 'nested' },
  { name: 'queries' },
  { name: 'updates' },
  { name: 'subscriptions' },
  { name: 'subscriptionUpdates' },
  { name: 'unsubscriptions' },
  { name: 'subscriptionsNgsi10ConvOp' },
  { name: 'notificationsReceived' },
  { name: 'notificationsSent' },
  { name: 'registrations' },
  { name: 'discoveries' },
  { name: 'availabilitySubscriptions' },
  { name: 'availabilitySubscriptionUpdates' },
  { name: 'availabilityUnsubscriptions' },
  { name: 'availabilityNotificationsReceived' },
  { name: 'availabilityNotificationsSent' },
  { name: 'queryResponsesReceived' },
  { name: 'updateResponsesReceived' },
  { name: 'individualContextEntity' },
  { name: 'individualContextEntityAttributes' },
  { name: 'individualContextEntityAttribute' },
  { name: 'attributeValueInstance' },
  { name: 'allContextEntitiesRequests' },
  { name: 'allContextEntitiesWithTypeAndIdRequests', later: 'allEntitiesWithTypeAndIdRequests' },
  { name: 'individualContextEntityAttributeWithTypeAndId', later: 'individualCtxEntityAttributeWithTypeAndId' },
  { name: 'attributeValueInstanceWithTypeAndId' },
  { name: 'contextEntityTypesNgsi10', later: 'ctxEntityTypesNgsi10' },
  { name: 'contextEntityTypeAttributeContainerNgsi10', later: 'ctxEntityTypeAttributeContainerNgsi10' },
  { name: 'contextEntityTypeAttributeNgsi10', later: 'ctxEntityTypeAttributeNgsi10' },
  { name: 'entityTypes' },
  { name: 'attributesForEntityType' },
  { name: 'contextEntitiesByEntityId' },
  { name: 'contextEntityAttributes' },
  { name: 'entityByIdAttributeByName' },
  { name: 'contextEntityTypes', later: 'ctxEntityTypes' },
  { name: 'contextEntityTypeAttributeContainer', later: 'ctxEntityTypeAttributeContainer' },
  { name: 'contextEntityTypeAttribute', later: 'ctxEntityTypeAttribute' },
  { name: 'contextEntitiesByEntityIdAndType' },
  { name: 'entityByIdAttributeByNameIdAndType' },
  { name: 'subscriptionsNgsi9ConvOp' },
  { name: 'batchQueryRequests' },
  { name: 'batchUpdateRequests' },
  { name: 'registrationsRequest' },
  { name: 'registrationRequest' },
  { name: 'logRequests', later: 'logTraceRequests' },
  { name: 'logLevelRequests' },
  { name: 'versionRequests' },
  { name: 'statisticsRequests' },
  { name: 'metricsRequests' },
  { name: 'semStateRequests' },
  { name: 'invalidRequests' },
  { name: 'registrationUpdateErrors' },
  { name: 'discoveryErrors' },
  { name: 'simulatedNotifications', only: 'flat' },
  { name: 'missedVerb', only: 'nested' },
  { name: 'geoFormat', only: 'deprecated' },
  { name: 'ngsiv1Forwarding', only: 'deprecated' },
] as const satisfies readonly CounterRow[]

export type CounterName = (typeof counterRows)[number]['name']

/** The deprecated features of NGSIv2, by the names of their counters [management 4.5]. */
export type DeprecatedFeature = Extract<(typeof counterRows)[number], { only: 'deprecated' }>['name']

/** The counters of a part of the response [management 4.4, 4.5]. */
export function countersOf(part: NonNullable<CounterRow['only']>): readonly (typeof counterRows)[number][] {
  return counterRows.filter(({ only }: CounterRow) => (only === undefined ? part !== 'deprecated' : only === part))
}

const columns: ReadonlyMap<string, number> = new Map(counterRows.map(({ name }, column) => [name, column]))

/** The column of a counter. Throws for an unknown name, which is a mistake in a table of resources. */
export function counterColumn(name: string): number {
  const column = columns.get(name)
  if (column === undefined) throw new Error(`there is no counter ${name}`)
  return column
}

const flatBaseline = 0
const nestedBaseline = 1
const requests = counterRows.length

/** The counters of the statistics, and the requests by path and verb [management 4]. */
export class RequestCountTable {
  readonly #table: CounterTable

  static make(rows: number, at: Nanoseconds): CounterTableMemory {
    return CounterTable.make(rows, requests + maxRoutes * verbs.length, 2, at).memory
  }

  constructor(memory: CounterTableMemory) {
    this.#table = new CounterTable(memory)
  }

  /** Adds to a column, in the row of the calling thread. */
  add(row: number, column: number, amount = 1n): void {
    this.#table.add(row, column, amount)
  }

  /** The column of requests by the indexes of resource and verb. */
  requestColumn(route: number, verb: number): number {
    return requests + route * verbs.length + verb
  }

  /** The sums at the last reset, or at the start: what is read from it belongs together, with its moment. */
  get since(): Baseline {
    return this.#table.baseline(flatBaseline)
  }

  /** A counter of the flat part, since the last reset [management 4.1]. */
  flat(name: CounterName, from = this.since): bigint {
    return from.since(counterColumn(name))
  }

  /** A column of the nested part, since the last reset or since that part was switched on [management 4.5, 4.7]. */
  nested(column: number, from = this.nestedSince): bigint {
    return from.since(column)
  }

  /** The sums at the beginning of the nested part, as `since`. */
  get nestedSince(): Baseline {
    return this.#table.baseline(nestedBaseline)
  }

  /** A counter since the start of the process, regardless of resets [management 7]. */
  ever(name: CounterName): bigint {
    return this.#table.total(counterColumn(name))
  }

  reset(at: Nanoseconds): void {
    this.#table.setBaseline(flatBaseline, at)
    this.resetNested(at)
  }

  resetNested(at: Nanoseconds): void {
    this.#table.setBaseline(nestedBaseline, at)
  }
}
