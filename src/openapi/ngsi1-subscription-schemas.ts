import {
  arraySchema,
  closedSchema,
  type JsonSchema,
  namesSchema,
  openSchema,
  schemaRef,
  textSchema,
} from './description.js'

const duration = textSchema('ISO 8601, such as `P1M`; `PT24H` without it.')
const status = schemaRef('Ngsi1Status')
const selectors: JsonSchema = { ...arraySchema(schemaRef('Ngsi1Selector')), minItems: 1 }
const subscriptionId = textSchema('24 hexadecimal digits.')
const reference = textSchema('The URL that notifications are posted to.')
const restriction = schemaRef('Ngsi1Restriction')
const providingApplication = textSchema('The URL of the provider: `/queryContext` and `/updateContext` are appended.')

const registeredAttribute = openSchema(
  { name: textSchema() },
  { type: textSchema(), isDomain: textSchema(), metadatas: { type: 'array', items: {} } },
)

const notifyConditions = arraySchema(
  openSchema(
    {
      type: { type: 'string', enum: ['ONCHANGE', 'ONTIMEINTERVAL'] },
    },
    { condValues: namesSchema('Attributes that trigger, all without it; or an interval.'), restriction: textSchema() },
  ),
)

/** Subscriptions and the registry of NGSIv1 [subscriptions 2, 6, 7]. */
export const ngsi1SubscriptionSchemas: Readonly<Record<string, JsonSchema>> = {
  Ngsi1Subscription: openSchema(
    { entities: selectors, reference },
    {
      attributes: namesSchema('What notifications show. Without it: all attributes.'),
      duration,
      notifyConditions,
      throttling: textSchema('The shortest time between two notifications, such as `PT5S`.'),
      restriction,
    },
  ),
  Ngsi1SubscriptionChange: openSchema(
    { subscriptionId },
    { duration, notifyConditions, throttling: textSchema(), restriction },
  ),
  Ngsi1SubscriptionId: openSchema({ subscriptionId }),
  Ngsi1Subscribed: {
    ...closedSchema(
      {},
      {
        subscribeResponse: closedSchema({ subscriptionId }, { duration: textSchema(), throttling: textSchema() }),
        subscribeError: closedSchema({ errorCode: status }, { subscriptionId }),
      },
    ),
    minProperties: 1,
  },
  Ngsi1Unsubscribed: closedSchema({ subscriptionId, statusCode: status }),
  Ngsi1Notification: openSchema(
    {},
    {
      subscriptionId: textSchema(),
      originator: textSchema(),
      contextResponses: arraySchema(
        openSchema({ contextElement: schemaRef('Ngsi1Element') }, { statusCode: schemaRef('Ngsi1Status') }),
      ),
    },
  ),
  Ngsi1Taken: closedSchema({ responseCode: status }),
  Ngsi1RegisteredContext: openSchema(
    { providingApplication },
    {
      entities: arraySchema(schemaRef('Ngsi1Selector')),
      attributes: arraySchema(registeredAttribute, 'Without it the provider answers for the whole entity.'),
      metadatas: { type: 'array', items: {} },
    },
  ),
  Ngsi1Registration: openSchema(
    { contextRegistrations: { ...arraySchema(schemaRef('Ngsi1RegisteredContext')), minItems: 1 } },
    { duration, registrationId: textSchema('Replaces that registration.') },
  ),
  Ngsi1PathRegistration: openSchema(
    { providingApplication },
    { duration, registrationId: textSchema('Replaces that registration.'), metadatas: { type: 'array', items: {} } },
  ),
  Ngsi1Registered: {
    ...closedSchema({}, { registrationId: textSchema(), duration: textSchema(), errorCode: status }),
    minProperties: 1,
  },
  Ngsi1Discovery: openSchema({ entities: selectors }, { attributes: namesSchema(), restriction }),
  Ngsi1Discovered: {
    ...closedSchema(
      {},
      {
        contextRegistrationResponses: arraySchema(
          closedSchema({
            contextRegistration: closedSchema(
              {
                entities: arraySchema(closedSchema({ type: textSchema(), isPattern: textSchema(), id: textSchema() })),
                providingApplication,
              },
              {
                attributes: arraySchema(
                  closedSchema({ name: textSchema(), type: textSchema(), isDomain: textSchema() }),
                ),
              },
            ),
          }),
        ),
        errorCode: status,
      },
    ),
    minProperties: 1,
  },
  Ngsi1AvailabilitySubscription: openSchema(
    { entities: selectors, reference },
    { attributes: namesSchema(), duration, restriction },
  ),
  Ngsi1AvailabilityChange: openSchema(
    { subscriptionId, entities: selectors },
    { attributes: namesSchema(), duration, restriction },
  ),
  Ngsi1AvailabilitySubscribed: closedSchema({ subscriptionId }, { duration: textSchema(), errorCode: status }),
  Ngsi1AvailabilityNotification: openSchema(
    {},
    {
      subscriptionId: textSchema(),
      contextRegistrationResponses: arraySchema(
        openSchema({ contextRegistration: schemaRef('Ngsi1RegisteredContext') }),
      ),
    },
  ),
}
