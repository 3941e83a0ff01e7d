import type {
  DescribedOperation,
  DescribedParameter,
  DescribedPath,
  DescribedTag,
  ExampleValue,
} from './description.js'
import {
  formatParameter,
  ngsi1Operation,
  ngsi1PathParameters,
  ngsi1ReadParameters,
  okExample,
  typeParameters,
} from './ngsi1-operation.js'

const tag = 'NGSIv1 convenience operations'
const { id, type, name, metaID } = ngsi1PathParameters
const north = [{ name: 'ID', type: 'string', value: 'north' }]
const humidity = { name: 'humidity', type: 'percent', value: '66', metadatas: north }
const found = { contextElement: { type: 'Barn', isPattern: 'false', id: 'Barn2' }, statusCode: okExample }

/** What a path is about: an entity, an attribute, or an instance of one. */
interface Kind {
  readonly what: string
  readonly word: 'Entity' | 'Attribute'
  readonly readAnswer: string
  readonly writeAnswer: string
  readonly append: readonly [schema: string, example: ExampleValue]
  readonly update: readonly [schema: string, example: ExampleValue]
}

const entity: Kind = {
  what: 'entity',
  word: 'Entity',
  readAnswer: 'Ngsi1FoundEntity',
  writeAnswer: 'Ngsi1WrittenEntity',
  append: ['Ngsi1AppendEntity', { attributes: [humidity] }],
  update: ['Ngsi1UpdateEntity', { attributes: [humidity] }],
}

const value: Kind['append'] = ['Ngsi1NewValue', { type: 'percent', value: '71', metadatas: north }]
const attribute: Kind = {
  what: 'attribute',
  word: 'Attribute',
  readAnswer: 'Ngsi1FoundAttribute',
  writeAnswer: 'Ngsi1Status',
  append: value,
  update: value,
}
const instance: Kind = { ...attribute, what: 'instance of an attribute' }

/** Operations on what a path names [context 8]. */
export const ngsi1ConveniencePaths: DescribedTag = {
  name: tag,
  description:
    'Each is translated into an `updateContext` or a `queryContext`. POST appends, PUT updates, DELETE removes.',
  paths: [
    row('contextEntities/{id}', 'OfId', entity, [id]),
    row('contextEntities/{id}/attributes', 'OfIdWithAttributes', entity, [id]),
    row('contextEntities/{id}/attributes/{name}', 'OfId', attribute, [id, name]),
    row('contextEntities/{id}/attributes/{name}/{metaID}', 'InstanceOfId', instance, [id, name, metaID]),
    row('contextEntities/type/{type}/id/{id}', 'OfTypeAndId', entity, [type, id]),
    row('contextEntities/type/{type}/id/{id}/attributes/{name}', 'OfTypeAndId', attribute, [type, id, name]),
    row('contextEntities/type/{type}/id/{id}/attributes/{name}/{metaID}', 'InstanceOfTypeAndId', instance, [
      type,
      id,
      name,
      metaID,
    ]),
  ],
}

function row(path: string, suffix: string, kind: Kind, placeholders: readonly DescribedParameter[]): DescribedPath {
  const isTyped = path.includes('{type}')
  const { get, post, put, delete: remove } = operations(suffix, kind, placeholders)
  const appends = isTyped || kind !== instance
  return {
    path: `/v1/${path}`,
    ...(!isTyped && { aliases: [`/ngsi10/${path}`] }),
    operations: { get, ...(appends && { post }), put, delete: remove },
  }
}

function operations(
  suffix: string,
  kind: Kind,
  placeholders: readonly DescribedParameter[],
): Readonly<Record<'get' | 'post' | 'put' | 'delete', DescribedOperation>> {
  const { what, word, readAnswer, writeAnswer, append, update } = kind
  const parameters = [...placeholders, ...typeParameters]
  const written = {
    tags: [tag],
    use: 'write',
    parameters: [...parameters, formatParameter],
    answer: writeAnswer,
  } as const
  return {
    get: ngsi1Operation({
      operationId: `read${word}${suffix}`,
      tags: [tag],
      summary: `Read an ${what}`,
      use: 'read',
      parameters: [...parameters, ...ngsi1ReadParameters, formatParameter],
      answer: readAnswer,
      example: kind === entity ? found : { attributes: [humidity], statusCode: okExample },
    }),
    post: ngsi1Operation({
      operationId: `append${word}${suffix}`,
      summary: `Append an ${what}`,
      body: append,
      ...written,
    }),
    put: ngsi1Operation({
      operationId: `update${word}${suffix}`,
      summary: `Update an ${what}`,
      body: update,
      ...written,
    }),
    delete: ngsi1Operation({
      operationId: `remove${word}${suffix}`,
      tags: [tag],
      summary: `Remove an ${what}`,
      use: 'write',
      parameters,
      answer: 'Ngsi1Status',
      example: okExample,
    }),
  }
}
