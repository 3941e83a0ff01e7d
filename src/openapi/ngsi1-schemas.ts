import {
  arraySchema,
  closedSchema,
  type JsonSchema,
  namesSchema,
  openSchema,
  schemaRef,
  textSchema,
} from './description.js'

const anyValue: JsonSchema = {
  description:
    'Text, an object or an array. Numbers and booleans are taken as text, unless `-ngsiv1Autocast` is given.',
}
const isPattern: JsonSchema = {
  enum: ['true', 'false', '1', '0', '', true, false],
  description: 'Whether the id is a regular expression.',
}
const status = schemaRef('Ngsi1Status')
const shownAttributes = schemaRef('Ngsi1ShownAttributes')
const attributes = arraySchema(schemaRef('Ngsi1Attribute'))
const metadatas = arraySchema(schemaRef('Ngsi1Metadata'), 'The metadata `ID` tells instances of one attribute apart.')
const entityHead = { type: textSchema(), isPattern: { enum: ['false', 'true'] }, id: textSchema() } as const

/** Entities, attributes and statuses of NGSIv1, as they are given and as they are shown [context 1, 2, 6 to 9]. */
export const ngsi1Schemas: Readonly<Record<string, JsonSchema>> = {
  Ngsi1Status: {
    ...closedSchema(
      { code: textSchema('A number as text.', { pattern: '^\\d{3}$' }), reasonPhrase: textSchema() },
      { details: textSchema() },
    ),
    description: 'What happened: the HTTP status is 200 for nearly everything.',
  },
  OrionError: { ...closedSchema({ orionError: status }), description: 'An error that HTTP knows, too.' },
  Ngsi1Metadata: openSchema({ name: textSchema(), value: anyValue }, { type: textSchema() }),
  Ngsi1Attribute: openSchema({ name: textSchema() }, { type: textSchema(), value: anyValue, metadatas }),
  Ngsi1NewValue: {
    ...closedSchema({}, { type: textSchema(), value: anyValue, metadatas }),
    description: 'An attribute whose name stands in the path.',
  },
  Ngsi1Element: openSchema(
    { id: textSchema(undefined, { minLength: 1 }) },
    { type: textSchema('Without it, every entity of the id is meant.'), isPattern, attributes },
  ),
  Ngsi1Selector: openSchema(
    { id: textSchema('An id, or with isPattern a regular expression that is searched in ids.', { minLength: 1 }) },
    { type: textSchema('Without it, any type.'), isPattern },
  ),
  Ngsi1Restriction: openSchema(
    {},
    {
      attributeExpression: textSchema('Ignored.'),
      scopes: arraySchema(
        openSchema({
          type: textSchema(
            'FIWARE::Location, FIWARE::Location::NGSIv2, FIWARE::StringQuery, FIWARE::StringQuery::Metadata, FIWARE::Filter::Existence, FIWARE::Filter::Not::Existence.',
          ),
          value: { description: 'A text or an object, by the type.' },
        }),
      ),
    },
  ),
  Ngsi1Update: openSchema({
    updateAction: { type: 'string', enum: ['APPEND', 'APPEND_STRICT', 'UPDATE', 'REPLACE', 'DELETE'] },
    contextElements: { ...arraySchema(schemaRef('Ngsi1Element')), minItems: 1 },
  }),
  Ngsi1Query: openSchema(
    { entities: { ...arraySchema(schemaRef('Ngsi1Selector')), minItems: 1 } },
    {
      attributes: namesSchema('Entities that have none of them are no results. Without it: all attributes.'),
      restriction: schemaRef('Ngsi1Restriction'),
    },
  ),
  Ngsi1AppendEntity: openSchema(
    {},
    { id: textSchema('Where the path has none.'), type: textSchema(), isPattern, attributes },
  ),
  Ngsi1UpdateEntity: openSchema({ attributes }),
  Ngsi1ShownMetadata: closedSchema({ name: textSchema(), type: textSchema(), value: {} }),
  Ngsi1ShownAttributes: {
    description: 'An array; with `attributesFormat=object` an object keyed by name.',
    anyOf: [
      arraySchema(
        closedSchema(
          { name: textSchema(), type: textSchema(), value: {} },
          { metadatas: arraySchema(schemaRef('Ngsi1ShownMetadata')) },
        ),
      ),
      {
        type: 'object',
        additionalProperties: closedSchema(
          { type: textSchema(), value: {} },
          { metadatas: arraySchema(schemaRef('Ngsi1ShownMetadata')) },
        ),
      },
    ],
  },
  Ngsi1ShownElement: closedSchema(entityHead, { attributes: shownAttributes }),
  Ngsi1Responses: {
    ...closedSchema(
      {},
      {
        contextResponses: arraySchema(
          closedSchema({ contextElement: schemaRef('Ngsi1ShownElement'), statusCode: status }),
        ),
        errorCode: status,
      },
    ),
    minProperties: 1,
    description: 'errorCode says why there are no results; with `details=on` how many there are.',
  },
  Ngsi1WrittenEntity: {
    ...closedSchema(
      {},
      {
        ...entityHead,
        contextResponses: arraySchema(closedSchema({ statusCode: status }, { attributes: shownAttributes })),
        errorCode: status,
      },
    ),
    minProperties: 1,
    description: 'contextResponses or errorCode. type, isPattern and id stand in responses to POST.',
  },
  Ngsi1FoundEntity: closedSchema(
    { contextElement: schemaRef('Ngsi1ShownElement'), statusCode: status },
    { contextElements: arraySchema(schemaRef('Ngsi1ShownElement'), 'Every entity of the id, oldest first.') },
  ),
  Ngsi1FoundAttribute: closedSchema({ statusCode: status }, { attributes: shownAttributes }),
  Ngsi1Types: closedSchema(
    { statusCode: status },
    { types: arraySchema(closedSchema({ name: textSchema() }, { attributes: namesSchema() })) },
  ),
  Ngsi1Type: closedSchema({ name: textSchema(), statusCode: status }, { attributes: namesSchema() }),
}
