// The description of the interfaces as a page for people.
import { fail, methods, pointerTo } from './openapi.mjs'
import {
  componentName,
  escaped,
  exampleMarkup,
  kindMarkup,
  pageOf,
  proseMarkup,
  schemaMarkup,
  termMarkup,
} from './reference-markup.mjs'

/** The page of a description in OpenAPI, as `openApi` gives it. */
export function referencePage({ info, tags, paths, components }) {
  const schemas = Object.entries(components.schemas).map(
    ([name, schema]) =>
      `<details id="schema-${escaped(name)}"><summary><code>${escaped(name)}</code></summary>${
        schema.properties === undefined ? `<p>${kindMarkup(schema)}</p>` : ''
      }${schemaMarkup(schema)}</details>`,
  )
  const items = Object.entries(paths)
  const operations = items.flatMap(([path, item]) => {
    const aliases = items.flatMap(([alias, { $ref }]) => ($ref === pointerTo(path) ? [alias] : []))
    return methods.flatMap((method) => (item[method] === undefined ? [] : [{ path, aliases, method, ...item[method] }]))
  })
  const tagMarkup = ({ name, description }) =>
    `<section id="${anchor(name)}"><h2>${escaped(name)}</h2><p>${proseMarkup(description)}</p>${operations
      .filter((operation) => operation.tags.includes(name))
      .map((operation) => operationMarkup(operation, components))
      .join('\n')}</section>`
  return pageOf(
    'reference',
    `<header><h1>Rigel</h1><p>${proseMarkup(info.description)}</p>
<p>For programs: <a href="openapi.json">openapi.json</a>. The flags that it is started with: <a href="/docs/flags">/docs/flags</a>.</p></header>
<nav><ul>${tags.map(({ name }) => `<li><a href="#${anchor(name)}">${escaped(name)}</a></li>`).join('')}
<li><a href="#schemas">Schemas</a></li></ul></nav>
<main>${tags.map(tagMarkup).join('\n')}
<section id="schemas"><h2>Schemas</h2>${schemas.join('\n')}</section></main>`,
  )
}

function operationMarkup({ path, aliases, method, ...operation }, components) {
  const { operationId, summary, description, requestBody, responses } = operation
  const parameters = (operation.parameters ?? []).map((given) => resolved(components.parameters, given))
  const others = aliases.map((alias) => `<code>${escaped(alias)}</code>`).join(', ')
  const terms = parameters.map((parameter) => {
    const { name, in: place, schema, required } = parameter
    return termMarkup(name, schema, `${place}${required === true ? ', required' : ''}`, parameter.description)
  })
  const answers = Object.entries(responses).map(([status, given]) =>
    responseMarkup(status, '$ref' in given, resolved(components.responses, given)),
  )
  return `<details id="${escaped(operationId)}">
<summary><b>${method.toUpperCase()}</b> <code>${escaped(path)}</code> ${escaped(summary)}</summary>
${description === undefined ? '' : `<p>${proseMarkup(description)}</p>`}
${others === '' ? '' : `<p>Also under ${others}</p>`}
<pre>${escaped(curlOf(path, method, parameters, requestBody?.content))}</pre>
${terms.length === 0 ? '' : `<h3>Parameters</h3><dl>${terms.join('')}</dl>`}
${requestBody === undefined ? '' : `<h3>Body</h3>${contentMarkup(requestBody.content)}`}
<h3>Responses</h3>${answers.join('')}
</details>`
}

/** The example as a call that can be copied. */
function curlOf(path, method, parameters, content = {}) {
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

/** A response; one that many operations share is told in a line. */
function responseMarkup(status, isShared, { description, headers = {}, content = {} }) {
  const line = `<b>${escaped(status)}</b> ${proseMarkup(description)}`
  const kinds = Object.values(content).map(({ schema }) => kindMarkup(schema))
  if (isShared) return `<p>${line} ${kinds.join(' or ')}</p>`
  const terms = Object.entries(headers).map(([name, header]) =>
    termMarkup(name, header.schema, 'header', header.description),
  )
  const listed = terms.length === 0 ? '' : `<dl>${terms.join('')}</dl>`
  return `<p>${line}</p>${listed}${contentMarkup(content)}`
}

function contentMarkup(content) {
  return Object.entries(content)
    .map(([type, { schema, example }]) => {
      const shown = example === undefined ? '' : exampleMarkup(example)
      return `<p><code>${escaped(type)}</code> ${kindMarkup(schema)}</p>${schemaMarkup(schema)}${shown}`
    })
    .join('')
}

function resolved(components, given) {
  if (given.$ref === undefined) return given
  return components[componentName(given.$ref)] ?? fail(`there is no component ${given.$ref}`)
}

function anchor(name) {
  return name.toLowerCase().replaceAll(' ', '-')
}
