import {
  arraySchema,
  closedSchema,
  type JsonSchema,
  namesSchema,
  openSchema,
  schemaRef,
  textSchema,
} from './description.js'

const date = schemaRef('Date')
const count: JsonSchema = { type: 'integer', minimum: 0 }
const flag: JsonSchema = { type: 'boolean' }
const texts: JsonSchema = { type: 'object', additionalProperties: textSchema() }
const templates = {
  payload: { type: ['string', 'null'], description: 'A text with macros; null is no body.' },
  json: { type: ['object', 'array'], description: 'JSON with macros in its texts.' },
  ngsi: { type: 'object', description: 'A part of an entity that replaces that of the entity notified.' },
} as const
const http = { timeout: { ...count, maximum: 1_800_000, description: 'Milliseconds; `-httpTimeout` without it.' } }
const custom = { method: textSchema('POST without it.'), qs: texts, headers: texts, ...templates, ...http }
const mqtt = {
  qos: { type: 'integer', minimum: 0, maximum: 2, default: 0 },
  retain: { ...flag, default: false },
} as const
const login = { user: textSchema(), passwd: textSchema() }
const url = textSchema('Where notifications are sent.')
const topic = textSchema('The topic of MQTT.')

const receivers = {
  http: openSchema({ url }, http),
  httpCustom: openSchema({ url }, custom),
  mqtt: openSchema({ url, topic }, { ...mqtt, ...login }),
  mqttCustom: openSchema({ url, topic }, { ...mqtt, ...login, ...templates }),
}

const shownReceivers = {
  http: closedSchema({ url }, http),
  httpCustom: closedSchema({ url }, custom),
  mqtt: closedSchema({ url, topic, ...mqtt }, login),
  mqttCustom: closedSchema({ url, topic, ...mqtt }, { ...login, ...templates }),
}

const condition = {
  expression: schemaRef('Ngsi2Expression'),
  jexlExpression: textSchema('An expression that has to be true.'),
  alterationTypes: arraySchema({ enum: ['entityCreate', 'entityChange', 'entityUpdate', 'entityDelete'] }),
}

const notification = {
  metadata: namesSchema('Metadata that are shown; without it all of the client.'),
  maxFailsLimit: { type: 'integer', minimum: 1, description: 'More failures in a row end the subscription.' },
} as const

const format = {
  onlyChangedAttrs: { ...flag, default: false, description: 'Show only what the request contained.' },
  covered: { ...flag, default: false, description: 'Show attributes of the list that the entity lacks as null.' },
  attrsFormat: {
    type: 'string',
    enum: ['normalized', 'simplifiedNormalized', 'keyValues', 'simplifiedKeyValues', 'values', 'legacy'],
    default: 'normalized',
  },
} as const

const lists = {
  attrs: namesSchema('Attributes that are shown; `[]` is all.'),
  exceptAttrs: namesSchema('Instead of attrs: attributes that are not shown.'),
}

/** Subscriptions of NGSIv2, as they are given and as they are shown [NGSIv2 subscriptions 2]. */
export const ngsi2SubscriptionSchemas: Readonly<Record<string, JsonSchema>> = {
  Ngsi2Subject: openSchema(
    { entities: { ...arraySchema(schemaRef('Ngsi2Selector')), minItems: 1 } },
    {
      condition: {
        ...openSchema(
          {},
          {
            attrs: namesSchema('Attributes that trigger; `[]` is every one.'),
            ...condition,
            notifyOnMetadataChange: { ...flag, default: true },
          },
        ),
        minProperties: 1,
      },
    },
  ),
  Ngsi2Delivery: {
    ...openSchema({}, { ...lists, ...notification, ...format, ...receivers }),
    description: 'Exactly one of http, httpCustom, mqtt and mqttCustom.',
  },
  Ngsi2Subscription: {
    ...openSchema(
      { subject: schemaRef('Ngsi2Subject'), notification: schemaRef('Ngsi2Delivery') },
      {
        description: textSchema(undefined, { maxLength: 1024 }),
        expires: textSchema('ISO 8601; never without it.'),
        status: { type: 'string', enum: ['active', 'inactive', 'oneshot'], default: 'active' },
        throttling: { ...count, description: 'Seconds between two notifications at least.' },
      },
    ),
    description: 'A new subscription.',
  },
  Ngsi2SubscriptionPatch: {
    ...openSchema(
      {},
      {
        subject: schemaRef('Ngsi2Subject'),
        notification: schemaRef('Ngsi2Delivery'),
        description: textSchema(undefined, { maxLength: 1024 }),
        expires: textSchema('ISO 8601; never, when empty.'),
        status: { type: 'string', enum: ['active', 'inactive', 'oneshot'] },
        throttling: count,
      },
    ),
    minProperties: 1,
    description: 'What is given replaces what is stored.',
  },
  Ngsi2ShownSubscription: closedSchema(
    {
      id: schemaRef('Id'),
      status: { type: 'string', enum: ['active', 'inactive', 'oneshot', 'expired'] },
      subject: closedSchema({
        entities: arraySchema(schemaRef('Ngsi2Selector')),
        condition: closedSchema({ attrs: namesSchema(), notifyOnMetadataChange: flag }, condition),
      }),
      notification: closedSchema(format, {
        ...lists,
        ...notification,
        ...shownReceivers,
        timesSent: { ...count, description: 'Notifications with at least one attempt.' },
        failsCounter: { ...count, description: 'Failed attempts in a row.' },
        lastNotification: date,
        lastSuccess: date,
        lastSuccessCode: count,
        lastFailure: date,
        lastFailureReason: textSchema('Such as `trouble: connection refused`.'),
      }),
    },
    { description: textSchema(), expires: date, throttling: count },
  ),
}
