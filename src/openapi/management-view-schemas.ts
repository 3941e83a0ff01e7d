import { arraySchema, closedSchema, type JsonSchema, namesSchema, schemaRef, textSchema } from './description.js'
import { deliveryState } from './management-schemas.js'

const count: JsonSchema = { type: 'integer', minimum: 0 }
const flag: JsonSchema = { type: 'boolean' }

const [always, sometimes] = deliveryState

/** What the management shows of all that is stored [console: data]. */
export const managementViewSchemas: Readonly<Record<string, JsonSchema>> = {
  SubscriptionDetails: {
    ...closedSchema(
      {
        ...always,
        subject: { type: 'object', description: 'Which entities, and what fires it, as NGSIv2 shows it.' },
        notification: closedSchema(
          {
            attrsFormat: textSchema(),
            metadata: namesSchema(),
            onlyChangedAttrs: flag,
            covered: flag,
            kind: { enum: ['http', 'mqtt'] },
            isCustom: flag,
          },
          { attrs: namesSchema(), exceptAttrs: namesSchema(), maxFailsLimit: count },
        ),
      },
      {
        ...sometimes,
        description: textSchema(),
        interval: { type: 'number', description: 'Seconds between notifications by the clock.' },
        target: { type: 'object', description: 'Of one: how it is notified, with its template, without secrets.' },
        queue: closedSchema({ state: textSchema('What it does with what waits.'), underWay: count }),
        lastFailures: arraySchema(closedSchema({ at: schemaRef('Date'), reason: textSchema() })),
      },
    ),
    description: 'How deliveries go, and what the subscription asks for.',
  },
  Registrations: closedSchema({
    count: { ...count, description: 'Of all that fit, on whatever page.' },
    registrations: arraySchema(schemaRef('StoredRegistration')),
  }),
  StoredRegistration: closedSchema(
    {
      id: schemaRef('Id'),
      servicePath: textSchema(),
      status: { enum: ['active', 'inactive', 'expired'] },
      mode: { enum: ['all', 'none', 'query', 'update'] },
      legacy: { ...flag, description: 'Whether the provider is asked in the form of NGSIv1.' },
      contexts: arraySchema({ type: 'object' }, 'Entities, attributes and the provider of each, without secrets.'),
      calls: { ...count, description: 'Requests that were passed on since the broker began.' },
      failures: count,
    },
    {
      service: textSchema('The tenant.'),
      description: textSchema(),
      expires: schemaRef('Date'),
      copiedFrom: textSchema('The subscription that another registry told of it with.'),
      lastCall: schemaRef('Date'),
      lastFailure: schemaRef('Date'),
      lastFailureReason: textSchema(),
    },
  ),
  Receivers: closedSchema({
    count: { ...count, description: 'Of all that fit, on whatever page.' },
    receivers: arraySchema(
      closedSchema(
        {
          receiver: textSchema('Scheme, host and port, or an MQTT broker.'),
          subscriptions: count,
          ids: arraySchema(schemaRef('Id'), 'The first of them.'),
          underWay: count,
          queueDepth: { ...count, description: 'Notifications that wait or are under way.' },
          queueBytes: count,
        },
        {
          oldestQueued: schemaRef('Date'),
          nextAttempt: schemaRef('Date'),
          accepted: count,
          failed: count,
          meanLatency_ms: { type: 'number', minimum: 0 },
          lastLatency_ms: { type: 'number', minimum: 0 },
          lastSuccess: schemaRef('Date'),
          lastFailure: schemaRef('Date'),
          lastFailureReason: textSchema(),
        },
      ),
    ),
  }),
  Alarms: closedSchema({
    counts: { type: 'object', description: 'By kind: active, and raised and released since the start.' },
    alarms: arraySchema(
      closedSchema(
        {
          kind: textSchema(),
          since: schemaRef('Date'),
          last: schemaRef('Date'),
          occurrences: count,
          reason: textSchema('What was said when it occurred last.'),
          isOver: { ...flag, description: 'Whether the condition is over, and the release is held for a while.' },
        },
        { subject: textSchema() },
      ),
      'The newest first.',
    ),
  }),
  Tenants: closedSchema({
    count,
    tenants: arraySchema(
      closedSchema({
        service: textSchema('Empty without a name.'),
        entities: count,
        types: count,
        servicePaths: count,
      }),
    ),
  }),
  TypeCounts: closedSchema({
    count: { ...count, description: 'Of all that fit, on whatever page.' },
    entities: { ...count, description: 'Of all that fit.' },
    types: arraySchema(
      closedSchema({
        service: textSchema('The tenant; empty without a name.'),
        servicePath: textSchema(),
        type: textSchema('Empty of entities without type.'),
        entities: count,
        attributes: { type: 'object', additionalProperties: count, description: 'How many have each attribute.' },
        attributeNames: count,
      }),
    ),
  }),
  EntityRows: closedSchema(
    {
      entities: arraySchema(
        closedSchema(
          {
            id: textSchema(),
            type: textSchema(),
            servicePath: textSchema(),
            created: schemaRef('Date'),
            modified: schemaRef('Date'),
            attributes: { ...count, description: 'Instances of all attributes.' },
            names: namesSchema('The first names.'),
          },
          { location: arraySchema({ type: 'number' }, 'Longitude and latitude.') },
        ),
      ),
    },
    {
      next: textSchema('What `after` says for the next page; absent at the end.'),
      total: closedSchema({ count, exact: flag }),
    },
  ),
  EntityPoints: closedSchema({
    points: arraySchema({ type: 'number' }, 'Longitudes and latitudes in turn.'),
    beyond: { ...count, description: 'How many more there are in the area, about.' },
  }),
  WholeEntities: closedSchema({
    entities: arraySchema(
      closedSchema({
        id: textSchema(),
        type: textSchema(),
        service: textSchema('The tenant; empty without a name.'),
        servicePath: textSchema(),
        created: schemaRef('Date'),
        modified: schemaRef('Date'),
        attributes: arraySchema(
          closedSchema({
            name: textSchema(),
            instance: textSchema('The metadata `ID`.'),
            type: textSchema(),
            value: { description: 'As it is stored.' },
            isLocation: flag,
            metadata: arraySchema({ type: 'object' }),
            created: schemaRef('Date'),
            modified: schemaRef('Date'),
          }),
        ),
        subscriptions: closedSchema({ count, ids: arraySchema(schemaRef('Id')) }),
        registrations: arraySchema(closedSchema({ id: schemaRef('Id'), provider: textSchema() })),
      }),
    ),
    more: { ...count, description: 'Entities of the id that are not shown.' },
  }),
  Explanation: closedSchema({
    subscription: schemaRef('Id'),
    entities: arraySchema(
      closedSchema(
        {
          id: textSchema(),
          type: textSchema(),
          servicePath: textSchema(),
          wouldNotify: flag,
          conditions: arraySchema(
            closedSchema(
              { condition: textSchema(), fits: flag },
              { asked: { description: 'What the subscription asks.' }, held: { description: 'What there is.' } },
            ),
          ),
        },
        { why: textSchema('Why not, in the words of the trace.') },
      ),
    ),
    more: { ...count, description: 'Entities of the same id that are not explained.' },
  }),
}
