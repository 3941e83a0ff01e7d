import { readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { builtFile } from '../../src/version.js'
import type { Reply } from '../running.js'

/** A value of an example, as JSON has it. */
type ExampleValue =
  | null
  | boolean
  | number
  | string
  | readonly ExampleValue[]
  | { readonly [name: string]: ExampleValue }

/** A schema, as far as tests look into it. */
interface JsonSchema {
  readonly properties?: Readonly<Record<string, JsonSchema>>
}

interface Reference {
  readonly $ref: string
}

interface DescribedParameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly example?: ExampleValue
  readonly $ref?: never
}

type ContentByType = Readonly<Record<string, { readonly schema: JsonSchema; readonly example?: ExampleValue }>>

interface DescribedResponse {
  readonly content?: ContentByType
  readonly headers?: Readonly<Record<string, { readonly description: string }>>
  readonly $ref?: never
}

interface DescribedOperation {
  readonly operationId: string
  readonly tags: readonly [string]
  readonly parameters?: readonly (DescribedParameter | Reference)[]
  readonly requestBody?: { readonly content: ContentByType }
  readonly responses: Readonly<Record<string, DescribedResponse | Reference>>
}

const methods = ['get', 'post', 'put', 'patch', 'delete'] as const

type DescribedMethod = (typeof methods)[number]

interface Document {
  readonly paths: Readonly<
    Record<string, Partial<Readonly<Record<DescribedMethod, DescribedOperation>>> & Partial<Reference>>
  >
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>
    readonly parameters: Readonly<Record<string, DescribedParameter>>
    readonly responses: Readonly<Record<string, DescribedResponse>>
  }
}

/** The description of the interfaces as the build has written it. */
export const openApiFile = builtFile('openapi.json')

const document: Document = JSON.parse(readFileSync(openApiFile, 'utf8'))

/** Whatever operations refer to. */
export const describedComponents = document.components

/** One method of one path, as it is described. */
export interface Described {
  readonly path: string
  /** Other paths of the same resource. */
  readonly aliases: readonly string[]
  readonly method: DescribedMethod
  readonly operation: DescribedOperation
  readonly parameters: readonly DescribedParameter[]
}

const items = Object.entries(document.paths)

/** All operations, in the order of the description. */
export const described: readonly Described[] = items.flatMap(([path, item]) => {
  const pointer = `#/paths/${encodeURI(path.replaceAll('/', '~1'))}`
  const aliases = items.flatMap(([alias, { $ref }]) => ($ref === pointer ? [alias] : []))
  return methods.flatMap((method) => {
    const operation = item[method]
    if (operation === undefined) return []
    const parameters = (operation.parameters ?? []).map((given) => resolved(describedComponents.parameters, given))
    return [{ path, aliases, method, operation, parameters }]
  })
})

/** The response of an operation with that status; nothing when it is not described. */
export function responseTo({ operation }: Described, status: number): DescribedResponse | undefined {
  const given = operation.responses[String(status)]
  return given === undefined ? undefined : resolved(describedComponents.responses, given)
}

function resolved<Component>(
  components: Readonly<Record<string, Component>>,
  given: (Component & { readonly $ref?: never }) | Reference,
): Component {
  if (given.$ref === undefined) return given
  const found = components[given.$ref.slice(given.$ref.lastIndexOf('/') + 1)]
  if (found === undefined) throw new Error(`there is no ${given.$ref}`)
  return found
}

const ajv = new Ajv2020({ strict: false, allErrors: true })
ajv.addSchema({ components: describedComponents }, 'openapi')

/** Why a value does not fit a schema; empty when it does. */
export function misfit(schema: JsonSchema, value: unknown): string {
  const text = JSON.stringify(schema).replaceAll('"#/components', '"openapi#/components')
  const parsed: unknown = JSON.parse(text)
  if (typeof parsed !== 'object' || parsed === null) throw new Error('a schema is an object')
  return ajv.validate(parsed, value) ? '' : ajv.errorsText()
}

/** Headers that are described for all responses, or that only the HTTP client, a cache or a browser reads. */
const ofManyResponses: ReadonlySet<string> = new Set([
  ...['fiware-correlator', 'content-type', 'content-length', 'content-disposition', 'date', 'connection', 'keep-alive'],
  ...['transfer-encoding', 'cache-control', 'x-accel-buffering', 'content-security-policy'],
  ...['x-content-type-options', 'referrer-policy', 'vary'],
])

/** Why a response is not as it is described; empty when it is. */
export function undescribed(operation: Described, { status, headers, text, json }: Reply): string {
  const response = responseTo(operation, status)
  if (response === undefined) return `status ${status} is not described: ${text}`
  const names = new Set(Object.keys(response.headers ?? {}).map((name) => name.toLowerCase()))
  const header = [...headers.keys()].find((name) => !ofManyResponses.has(name) && !names.has(name))
  if (header !== undefined) return `status ${status} has the header ${header}, which is not described`
  const type = headers.get('content-type')?.split(';')[0]
  if (text === '') return response.content === undefined ? '' : `status ${status} has no body`
  const content = response.content?.[type ?? '']
  if (content === undefined) return `status ${status} has a body of type ${type}, which is not described`
  return misfit(content.schema, type === 'application/json' ? json : text)
}

/** The media type and the example of a body that has one. */
export function exampleIn(content: ContentByType = {}): readonly [type: string, example: ExampleValue] | undefined {
  for (const [type, { example }] of Object.entries(content)) if (example !== undefined) return [type, example]
  return undefined
}

/** The path and query of an example, with `value` in place of an example of a placeholder where it gives one. */
export function targetOf({ path, parameters }: Described, value: (example: string) => string): string {
  const query: string[] = []
  let filled = path
  for (const { name, in: place, example } of parameters) {
    if (example === undefined) continue
    const text = encodeURIComponent(value(String(example)))
    if (place === 'path') filled = filled.replace(`{${name}}`, text)
    else query.push(`${name}=${text}`)
  }
  return query.length === 0 ? filled : `${filled}?${query.join('&')}`
}
