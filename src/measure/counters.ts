/** A counter of the statistics [management 4.4, 4.5]. */
export interface CounterRow {
  readonly name: string
  /** The name in the nested part of the response, where it differs. */
  readonly later?: string
  /** In which parts of the response it stands: in both unless something else is said. */
  readonly only?: 'flat' | 'nested'
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
] as const satisfies readonly CounterRow[]

export type CounterName = (typeof counterRows)[number]['name']

const columns: ReadonlyMap<string, number> = new Map(counterRows.map(({ name }, column) => [name, column]))

/** The column of a counter. A name that nobody listed is a mistake in a table of resources. */
export function counterColumn(name: string): number {
  const column = columns.get(name)
  if (column === undefined) throw new Error(`there is no counter ${name}`)
  return column
}
