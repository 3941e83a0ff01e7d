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
      },
    ),
    description: 'How deliveries go, and what the subscription asks for.',
  },
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
