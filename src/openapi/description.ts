/** A value of an example, as JSON has it. */
export type ExampleValue =
  | null
  | boolean
  | number
  | string
  | readonly ExampleValue[]
  | { readonly [name: string]: ExampleValue }

type SchemaType = 'object' | 'array' | 'string' | 'number' | 'integer' | 'boolean' | 'null'

/** The part of JSON Schema 2020-12 that the description uses. */
export interface JsonSchema {
  readonly $ref?: string
  readonly description?: string
  readonly type?: SchemaType | readonly SchemaType[]
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: false | JsonSchema
  readonly items?: JsonSchema
  readonly anyOf?: readonly JsonSchema[]
  readonly enum?: readonly ExampleValue[]
  readonly pattern?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly minItems?: number
  readonly minProperties?: number
  readonly default?: ExampleValue
}

/** A reference to a component. */
export interface Reference {
  readonly $ref: string
}

/** A parameter of an operation. */
export interface DescribedParameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly description: string
  readonly required?: true
  readonly schema: JsonSchema
  readonly example?: ExampleValue
}

/** A body of one media type. */
export interface DescribedContent {
  readonly schema: JsonSchema
  readonly example?: ExampleValue
}

/** A body by media type. */
export type ContentByType = Readonly<Record<string, DescribedContent>>

/** A response with one status. */
export interface DescribedResponse {
  readonly description: string
  readonly headers?: Readonly<Record<string, { readonly description: string; readonly schema: JsonSchema }>>
  readonly content?: ContentByType
}

/** What one method of a path does. */
export interface DescribedOperation {
  readonly operationId: string
  readonly tags: readonly [string]
  readonly summary: string
  readonly description?: string
  readonly parameters?: readonly (DescribedParameter | Reference)[]
  readonly requestBody?: { readonly required: true; readonly content: ContentByType }
  readonly responses: Readonly<Record<string, DescribedResponse | Reference>>
  /** One of these is needed; an empty one is none. */
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[]
}

/** The methods that resources have. */
export const describedMethods = ['get', 'post', 'put', 'patch', 'delete'] as const

export type DescribedMethod = (typeof describedMethods)[number]

/** A path with all that it takes. */
export interface DescribedPath {
  readonly path: string
  /** Older and other names of the same resource. */
  readonly aliases?: readonly string[]
  readonly operations: Partial<Readonly<Record<DescribedMethod, DescribedOperation>>>
}

/** What an interface adds to the description: a tag with its paths. */
export interface DescribedTag {
  readonly name: string
  readonly description: string
  readonly paths: readonly DescribedPath[]
}

/** The schema of that name among the components. */
export function schemaRef(name: string): JsonSchema & Reference {
  return { $ref: `#/components/schemas/${name}` }
}

/** The response of that name among the components. */
export function responseRef(name: string): Reference {
  return { $ref: `#/components/responses/${name}` }
}

/** The parameter of that name among the components. */
export function parameterRef(name: string): Reference {
  return { $ref: `#/components/parameters/${name}` }
}

/** A text. */
export function textSchema(description?: string, more: JsonSchema = {}): JsonSchema {
  return { type: 'string', ...(description !== undefined && { description }), ...more }
}

/** An object with no other members than these; those of `optional` may be absent. */
export function closedSchema(
  properties: Readonly<Record<string, JsonSchema>>,
  optional: Readonly<Record<string, JsonSchema>> = {},
): JsonSchema {
  return {
    type: 'object',
    required: Object.keys(properties),
    properties: { ...properties, ...optional },
    additionalProperties: false,
  }
}

/** An object whose other members are ignored, or are what the caller says. */
export function openSchema(
  properties: Readonly<Record<string, JsonSchema>>,
  optional: Readonly<Record<string, JsonSchema>> = {},
): JsonSchema {
  const required = Object.keys(properties)
  return { type: 'object', ...(required.length > 0 && { required }), properties: { ...properties, ...optional } }
}

/** An array of one kind of items. */
export function arraySchema(items: JsonSchema, description?: string): JsonSchema {
  return { type: 'array', items, ...(description !== undefined && { description }) }
}

/** An array of names. */
export function namesSchema(description?: string): JsonSchema {
  return arraySchema({ type: 'string' }, description)
}

/** A response in JSON. */
export function jsonResponse(description: string, schema: JsonSchema, example?: ExampleValue): DescribedResponse {
  return { description, content: jsonContent(schema, example) }
}

/** A body in JSON. */
export function jsonContent(schema: JsonSchema, example?: ExampleValue): ContentByType {
  return { 'application/json': { schema, ...(example !== undefined && { example }) } }
}

/** A parameter of the query. */
export function queryParameter(
  name: string,
  description: string,
  schema: JsonSchema,
  example?: ExampleValue,
): DescribedParameter {
  return { name, in: 'query', description, schema, ...(example !== undefined && { example }) }
}

/** A placeholder of the path, with the text that stands for it in examples. */
export function pathParameter(name: string, description: string, example: string): DescribedParameter {
  return { name, in: 'path', description, required: true, schema: { type: 'string' }, example }
}
