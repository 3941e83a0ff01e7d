import type { ApiResponse } from '../api.js'
import {
  type ContentByType,
  type DescribedMethod,
  type DescribedOperation,
  type DescribedParameter,
  type DescribedPath,
  type DescribedResponse,
  type DescribedTag,
  describedMethods,
  type Reference,
} from './description.js'
import { describedComponents, describedIntroduction, describedTags } from './openapi-document.js'
import {
  componentName,
  escaped,
  exampleMarkup,
  kindMarkup,
  proseMarkup,
  schemaMarkup,
  termMarkup,
} from './reference-markup.js'
import { referenceResponse } from './reference-response.js'

/** The description as a page for people. */
export function referencePage(): ApiResponse {
  const schemas = Object.entries(describedComponents.schemas).map(
    ([name, schema]) =>
      `<details id="schema-${escaped(name)}"><summary><code>${escaped(name)}</code></summary>${
        schema.properties === undefined ? `<p>${kindMarkup(schema)}</p>` : ''
      }${schemaMarkup(schema)}</details>`,
  )
  return referenceResponse(
    'reference',
    `<header><h1>Rigel</h1><p>${proseMarkup(describedIntroduction)}</p>
<p>For programs: <a href="openapi.json">openapi.json</a>. The flags that it is started with: <a href="/docs/flags">/docs/flags</a>.</p></header>
<nav><ul>${describedTags.map(({ name }) => `<li><a href="#${anchor(name)}">${escaped(name)}</a></li>`).join('')}
<li><a href="#schemas">Schemas</a></li></ul></nav>
<main>${describedTags.map(tagMarkup).join('\n')}
<section id="schemas"><h2>Schemas</h2>${schemas.join('\n')}</section></main>`,
  )
}

function tagMarkup({ name, description, paths }: DescribedTag): string {
  const operations = paths.flatMap((path) =>
    describedMethods.flatMap((method) => {
      const operation = path.operations[method]
      return operation === undefined ? [] : [operationMarkup(path, method, operation)]
    }),
  )
  return `<section id="${anchor(name)}"><h2>${escaped(name)}</h2><p>${proseMarkup(description)}</p>${operations.join('\n')}</section>`
}

function operationMarkup(
  { path, aliases = [] }: DescribedPath,
  method: DescribedMethod,
  operation: DescribedOperation,
): string {
  const { operationId, summary, description, requestBody, responses } = operation
  const parameters = (operation.parameters ?? []).map(parameterOf)
  const others = aliases.map((alias) => `<code>${escaped(alias)}</code>`).join(', ')
  const terms = parameters.map((parameter) => {
    const { name, in: place, schema, required } = parameter
    return termMarkup(name, schema, `${place}${required === true ? ', required' : ''}`, parameter.description)
  })
  return `<details id="${escaped(operationId)}">
<summary><b>${method.toUpperCase()}</b> <code>${escaped(path)}</code> ${escaped(summary)}</summary>
${description === undefined ? '' : `<p>${proseMarkup(description)}</p>`}
${others === '' ? '' : `<p>Also under ${others}</p>`}
<pre>${escaped(curlOf(path, method, parameters, requestBody?.content))}</pre>
${terms.length === 0 ? '' : `<h3>Parameters</h3><dl>${terms.join('')}</dl>`}
${requestBody === undefined ? '' : `<h3>Body</h3>${contentMarkup(requestBody.content)}`}
<h3>Responses</h3>${Object.entries(responses).map(responseMarkup).join('')}
</details>`
}

/** The example as a call that can be copied. */
function curlOf(
  path: string,
  method: DescribedMethod,
  parameters: readonly DescribedParameter[],
  content: ContentByType = {},
): string {
  const examples = parameters.filter(({ example }) => example !== undefined)
  const filled = examples
    .filter((parameter) => parameter.in === 'path')
    .reduce((sofar, { name, example }) => sofar.replace(`{${name}}`, encodeURIComponent(String(example))), path)
  const query = examples
    .filter((parameter) => parameter.in === 'query')
    .map(({ name, example }) => `${name}=${encodeURIComponent(String(example))}`)
  const target = `localhost:1026${filled}${query.length === 0 ? '' : `?${query.join('&')}`}`
  const body = Object.entries(content).find(([, { example }]) => example !== undefined)
  const verb = method === (body === undefined ? 'get' : 'post') ? '' : `-X ${method.toUpperCase()} `
  const call = `curl -s ${verb}'${target}'`
  if (body === undefined) return call
  const [type, { example = null }] = body
  const text = typeof example === 'string' ? example : JSON.stringify(example)
  return `${call} -H 'Content-Type: ${type}' -d '${text}'`
}

function responseMarkup([status, given]: readonly [string, DescribedResponse | Reference]): string {
  const { description, headers = {}, content = {} } = responseOf(given)
  const line = `<b>${escaped(status)}</b> ${proseMarkup(description)}`
  const kinds = Object.values(content).map(({ schema }) => kindMarkup(schema))
  if ('$ref' in given) return `<p>${line} ${kinds.join(' or ')}</p>`
  const terms = Object.entries(headers).map(([name, header]) =>
    termMarkup(name, header.schema, 'header', header.description),
  )
  const listed = terms.length === 0 ? '' : `<dl>${terms.join('')}</dl>`
  return `<p>${line}</p>${listed}${contentMarkup(content)}`
}

function contentMarkup(content: ContentByType): string {
  return Object.entries(content)
    .map(([type, { schema, example }]) => {
      const shown = example === undefined ? '' : exampleMarkup(example)
      return `<p><code>${escaped(type)}</code> ${kindMarkup(schema)}</p>${schemaMarkup(schema)}${shown}`
    })
    .join('')
}

function parameterOf(given: DescribedParameter | Reference): DescribedParameter {
  return '$ref' in given ? component(describedComponents.parameters, given) : given
}

function responseOf(given: DescribedResponse | Reference): DescribedResponse {
  return '$ref' in given ? component(describedComponents.responses, given) : given
}

function component<Component>(components: Readonly<Record<string, Component>>, { $ref }: Reference): Component {
  const found = components[componentName($ref)]
  if (found === undefined) throw new Error(`there is no component ${$ref}`)
  return found
}

function anchor(name: string): string {
  return name.toLowerCase().replaceAll(' ', '-')
}
