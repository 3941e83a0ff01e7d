/** A counter of the statistics [management 4.4, 4.5]. */
export interface CounterRow {
  readonly name: string
  /** The name in the nested part of the response, where it differs. */
  readonly later?: string
  /** In which parts of the response it stands: in the flat and in the nested one unless something else is said. */
  readonly only?: 'flat' | 'nested' | 'deprecated'
}

/** Every counter, in the order in which the response lists them. */
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

/** What is deprecated of NGSIv2, by the name of its counter [management 4.5]. */
export type DeprecatedFeature = Extract<(typeof counterRows)[number], { only: 'deprecated' }>['name']

/** The counters that a part of the response shows [management 4.4, 4.5]. */
export function countersOf(part: NonNullable<CounterRow['only']>): readonly (typeof counterRows)[number][] {
  return counterRows.filter(({ only }: CounterRow) => (only === undefined ? part !== 'deprecated' : only === part))
}

const columns: ReadonlyMap<string, number> = new Map(counterRows.map(({ name }, column) => [name, column]))

/** The column of a counter. A name that nobody listed is a mistake in a table of resources. */
export function counterColumn(name: string): number {
  const column = columns.get(name)
  if (column === undefined) throw new Error(`there is no counter ${name}`)
  return column
}
