import { updateActions } from '../context/update.js'
import {
  arraySchema,
  closedSchema,
  type JsonSchema,
  namesSchema,
  openSchema,
  schemaRef,
  textSchema,
} from './description.js'

/** A pattern for a word in capitals, small letters or both: JSON Schema has no flag for it. */
function anyCase(word: string): string {
  return word.replace(/[A-Z]/g, (letter) => `[${letter}${letter.toLowerCase()}]`)
}

const anything: JsonSchema = {}
const type = textSchema('Without it, the default for the kind of the value.')
const metadata = schemaRef('Ngsi2Metadata')
const shownMetadata = { type: 'object', additionalProperties: schemaRef('Ngsi2ShownMetadata') } as const
const selectors = arraySchema(schemaRef('Ngsi2Selector'))
const expression = {
  q: textSchema('Conditions on values: `heat>60;lid==open`.'),
  mq: textSchema('Conditions on values of metadata: `heat.accuracy<1`.'),
  georel: textSchema('`near;maxDistance:M`, `coveredBy`, `intersects`, `disjoint` or `equals`.'),
  geometry: textSchema('`point`, `line`, `box` or `polygon`.'),
  coords: textSchema('`latitude,longitude` of the points, separated by `;`.'),
}

/** Entities, attributes, types and batch operations of NGSIv2 [NGSIv2 context 2, 7, 11, 13]. */
export const ngsi2Schemas: Readonly<Record<string, JsonSchema>> = {
  Ngsi2Metadata: {
    type: 'object',
    description: 'By name. An update merges them unless it says `overrideMetadata`.',
    additionalProperties: { ...openSchema({}, { type, value: anything }), additionalProperties: false },
  },
  Ngsi2Attribute: {
    ...closedSchema(
      {},
      { type, value: { description: 'Any JSON, or an update operator such as `{"$inc": 1}`.' }, metadata },
    ),
    description: 'An attribute of a request.',
  },
  Ngsi2Entity: {
    ...openSchema(
      { id: textSchema(undefined, { minLength: 1, maxLength: 256 }) },
      { type: textSchema('`Thing` without it.', { minLength: 1, maxLength: 256 }) },
    ),
    description: 'All other members are attributes. With `options=keyValues` each is its value alone.',
    additionalProperties: { anyOf: [schemaRef('Ngsi2Attribute'), { description: 'A value, with `keyValues`.' }] },
  },
  Ngsi2Attributes: {
    type: 'object',
    minProperties: 1,
    description: 'Attributes by name. With `options=keyValues` each is its value alone.',
    additionalProperties: { anyOf: [schemaRef('Ngsi2Attribute'), { description: 'A value, with `keyValues`.' }] },
  },
  Ngsi2ShownMetadata: closedSchema({ type: textSchema(), value: anything }),
  Ngsi2ShownAttribute: closedSchema({ type: textSchema(), value: anything, metadata: shownMetadata }),
  Ngsi2ShownEntity: {
    ...openSchema({ id: textSchema(), type: textSchema() }),
    description: 'All other members are attributes.',
    additionalProperties: { anyOf: [schemaRef('Ngsi2ShownAttribute'), textSchema('Of id and type.')] },
  },
  Ngsi2SimpleEntity: {
    ...openSchema({ id: textSchema(), type: textSchema() }),
    description: 'An entity with `keyValues`: all other members are values of attributes.',
  },
  Ngsi2Values: { type: 'array', description: 'Values of attributes, with `values` and `unique`.', items: anything },
  Ngsi2EntityList: {
    description: 'Normalized, or in the form that `options` ask for.',
    anyOf: [
      arraySchema(schemaRef('Ngsi2ShownEntity')),
      arraySchema(schemaRef('Ngsi2SimpleEntity')),
      arraySchema(schemaRef('Ngsi2Values')),
    ],
  },
  Ngsi2Type: closedSchema(
    {
      attrs: {
        type: 'object',
        description: 'The types in use, by the name of the attribute.',
        additionalProperties: closedSchema({ types: namesSchema() }),
      },
      count: { type: 'integer', minimum: 0, description: 'How many entities have the type.' },
    },
    { type: textSchema('In the list of types.') },
  ),
  Ngsi2Selector: {
    ...openSchema(
      {},
      {
        id: textSchema('The id, or `idPattern`.'),
        idPattern: textSchema('A regular expression that is searched in ids.'),
        type: textSchema('The type; without it and `typePattern`, any type.'),
        typePattern: textSchema('A regular expression that is searched in types.'),
      },
    ),
    description: 'Which entities are meant.',
  },
  Ngsi2Expression: {
    ...closedSchema({}, expression),
    minProperties: 1,
    description: 'Conditions; all hold. georel, geometry and coords come together.',
  },
  Ngsi2Query: {
    ...closedSchema(
      {},
      {
        entities: selectors,
        attrs: namesSchema('What is shown.'),
        attributes: namesSchema('Only entities with one of them, and only those attributes.'),
        expression: schemaRef('Ngsi2Expression'),
        metadata: namesSchema('Metadata that are shown.'),
      },
    ),
    minProperties: 1,
  },
  Ngsi2Update: closedSchema({
    actionType: {
      anyOf: [
        { type: 'string', enum: ['append', 'appendStrict', 'update', 'delete', 'replace'] },
        { type: 'string', pattern: `^(${updateActions.map(anyCase).join('|')})$` },
      ],
      description: 'The words of NGSIv1 too, such as `APPEND_STRICT`, in capitals, small letters or both.',
    },
    entities: { ...arraySchema(schemaRef('Ngsi2Entity')), minItems: 1 },
  }),
  Ngsi2Notification: closedSchema({ subscriptionId: textSchema(), data: arraySchema(schemaRef('Ngsi2Entity')) }),
}
