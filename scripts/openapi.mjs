// Reads the description of the interfaces in docs/openapi, and gives it as OpenAPI 3.1 has it. What its notation has instead:
// - a schema: `$Name`, `string`, `string: what it means`, `[items]`, `closed` or `open` members, of which those with a question mark
//   behind their names may be absent;
// - a response: `$Name`, its description, or that with `headers` and, in JSON, `schema` and `example`, or `content` by media type;
// - a parameter: of the query and a text unless it says otherwise, or the name of one of the interface, of a list of them, or of all;
// - an operation: `id`, `use`, `body`, statuses; `answer` is what 200 has; `errors` are statuses that the interface has names for.
//   `isForwarded` says that providers may carry it out, so that its response may have `common.forwardedHeaders`. What all
//   operations of an interface, of a use, and with a body have is said in `common`.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The methods that resources have, in the order in which they are told. */
export const methods = ['get', 'post', 'put', 'patch', 'delete']
const typed = /^(string|integer|number|boolean|null|object|array)(?:: (.*))?$/s

/** Ends the build, with the fault in the description. */
export function fail(what) {
  throw new Error(`docs/openapi: ${what}`)
}

function reference(kind, name) {
  return { $ref: `#/components/${kind}/${name}` }
}

function isMap(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function mapped(map, change) {
  return Object.fromEntries(Object.entries(map).map(([name, value]) => [name, change(value, name)]))
}

/** An object whose members are required, unless their names end with a question mark. */
function objectOf(members) {
  const required = Object.keys(members).filter((name) => !name.endsWith('?'))
  const properties = Object.entries(members).map(([name, schema]) => [name.replace(/\?$/, ''), schemaOf(schema)])
  return { type: 'object', ...(required.length > 0 && { required }), properties: Object.fromEntries(properties) }
}

/** `$Name`, `string`, `string: what it means`, `[items]`, or a map of JSON Schema with `closed` or `open` members. */
export function schemaOf(given) {
  if (typeof given === 'string') {
    if (given.startsWith('$')) return reference('schemas', given.slice(1))
    const [, type, description] = typed.exec(given) ?? fail(`there is no schema ${given}`)
    return { type, ...(description !== undefined && { description }) }
  }
  if (Array.isArray(given)) return { type: 'array', items: schemaOf(given[0]) }
  const { closed, open, items, anyOf, additionalProperties: others, ...more } = given
  return {
    ...(closed && { ...objectOf(closed), additionalProperties: false }),
    ...(open && objectOf(open)),
    ...(items !== undefined && { type: 'array', items: schemaOf(items) }),
    ...(anyOf !== undefined && { anyOf: anyOf.map(schemaOf) }),
    ...(others !== undefined && { type: 'object', additionalProperties: others === false ? false : schemaOf(others) }),
    ...more,
  }
}

function withSchema({ schema, ...more }) {
  return { ...more, schema: schemaOf(schema) }
}

/** A body in JSON, or one of each media type of `content`. */
function contentOf({ schema, example, content }) {
  if (content !== undefined) return mapped(content, withSchema)
  return { 'application/json': { schema: schemaOf(schema), ...(example !== undefined && { example }) } }
}

function headersOf(headers) {
  return mapped(headers, (given) =>
    isMap(given) ? withSchema(given) : { description: given, schema: { type: 'string' } },
  )
}

/** `$Name`, its description, or that with a body in JSON or in other types, and headers. */
function responseOf(given) {
  if (typeof given === 'string') {
    return given.startsWith('$') ? reference('responses', given.slice(1)) : { description: given }
  }
  const { description, headers, ...body } = given
  return {
    description,
    ...(headers !== undefined && { headers: headersOf(headers) }),
    ...(Object.keys(body).length > 0 && { content: contentOf(body) }),
  }
}

/** A parameter, of the query and a text unless it says otherwise; placeholders of paths are always there. */
function parameterOf({ in: place = 'query', schema = 'string', ...more }) {
  return { ...more, in: place, ...(place === 'path' && { required: true }), schema: schemaOf(schema) }
}

/** The parameters of an operation: those of its interface and of all by their names, a list of them by its name, others as they are. */
function parametersOf(given, file, shared) {
  return given.flatMap((each) => {
    if (isMap(each)) return [parameterOf(each)]
    const own = file.parameters?.[each]
    if (Array.isArray(own)) return parametersOf(own, file, shared)
    if (own !== undefined) return [parameterOf({ name: each, ...own })]
    return shared.parameters[each] === undefined
      ? fail(`there is no parameter ${each}`)
      : [reference('parameters', each)]
  })
}

/** What an operation responds, and what every one of its interface does: the errors, those of a body, and of its use. */
function responsesOf(given, { common }, use) {
  const { operation, answer, example, wrapped, errors = [], isForwarded = false, body, statuses } = given
  const { other, sizeErrors = {}, forwardedHeaders } = common
  const namedErrors = { ...common.namedErrors, ...(isForwarded && common.forwardedErrors) }
  const either = (schema) => (other === undefined ? schema : { anyOf: [schema, other] })
  const sizes = mapped(sizeErrors, (description) => ({
    description,
    schema: wrapped === undefined ? other : either(wrapped),
  }))
  if (body === undefined) delete sizes[411]
  const named = errors.map((status) => [status, namedErrors[status] ?? fail(`${operation} has no name for ${status}`)])
  const all = {
    ...common.errors,
    ...(body !== undefined && common.errorsOfBody),
    ...sizes,
    ...use.errors,
    ...Object.fromEntries(named),
    ...(answer !== undefined && {
      200: {
        description: common.answer,
        ...(isForwarded && { headers: forwardedHeaders }),
        schema: either(answer),
        ...(example !== undefined && { example }),
      },
    }),
    ...statuses,
  }
  return mapped(all, responseOf)
}

function operationOf(tag, given, file, shared) {
  const {
    id,
    use: useName = 'usual',
    summary,
    description,
    parameters = [],
    answer,
    example,
    wrapped,
    errors,
    isForwarded,
    body,
    ...statuses
  } = given
  const use = file.common.uses[useName] ?? fail(`${id} has no use ${useName}`)
  const all = [...parametersOf(parameters, file, shared), ...parametersOf(use.parameters ?? [], file, shared)]
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(description !== undefined && { description }),
    ...(use.security !== undefined && { security: use.security }),
    ...(all.length > 0 && { parameters: all }),
    ...(body !== undefined && { requestBody: { required: true, content: contentOf(body) } }),
    responses: responsesOf({ operation: id, answer, example, wrapped, errors, isForwarded, body, statuses }, file, use),
  }
}

/** What other names of a path refer to. */
export function pointerTo(path) {
  return `#/paths/${encodeURI(path.replaceAll('/', '~1'))}`
}

/** A path with its operations; other names of the resource refer to it. */
function pathItems(tag, path, { aliases = [], ...given }, file, shared) {
  const known = methods.filter((method) => given[method] !== undefined)
  const operations = known.map((method) => [method, operationOf(tag, given[method], file, shared)])
  return [[path, Object.fromEntries(operations)], ...aliases.map((alias) => [alias, { $ref: pointerTo(path) }])]
}

/** The description that stands in a folder, for a version of the program; `parse` reads YAML. */
export function openApi(folder, version, parse) {
  const read = (name) => parse(readFileSync(join(folder, `${name}.yaml`), 'utf8'), { maxAliasCount: -1 })
  const shared = read('shared')
  const files = ['ngsi2', 'ngsi1', 'management'].map(read)
  const tags = files.flatMap((file) => file.tags.map((tag) => ({ ...tag, file })))
  return {
    openapi: '3.1.1',
    info: {
      title: 'Rigel',
      version,
      description: shared.description,
      license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    tags: tags.map(({ name, description }) => ({ name, description })),
    paths: Object.fromEntries(
      tags.flatMap(({ name, paths, file }) =>
        Object.entries(paths).flatMap(([path, given]) => pathItems(name, path, given, file, shared)),
      ),
    ),
    components: {
      schemas: mapped(read('schemas'), schemaOf),
      parameters: mapped(shared.parameters, (given, name) => parameterOf({ name, ...given })),
      responses: mapped(shared.responses, responseOf),
      securitySchemes: shared.securitySchemes,
    },
  }
}
