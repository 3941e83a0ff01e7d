import type { Answer, Asked, Operation } from '../api.js'
import type { Broker, TypeSummary } from '../broker/broker.js'
import type { Tenant } from '../context/entity.js'
import { granted, refused } from '../result.js'
import { checkSegments, segment } from './convenience.js'
import { asksCollapsed, pageAsked } from './parse/parameters.js'
import { renderStatus } from './render/elements.js'
import { statusAnswer, unavailableAnswer } from './render/responses.js'
import { okStatus, statusOf } from './render/status.js'
import { type Environment, forTenant } from './services.js'
import { pathsOfRead } from './tenant.js'

/** `GET /v1/contextTypes`: the types of the entities in the paths of the request [context 9]. */
export function listTypes(environment: Environment): Operation {
  return typesOperation(environment, (types, asked) => {
    const { offset, limit, counted } = pageAsked(asked.parameters)
    const shown = types.slice(offset, offset + limit)
    if (shown.length === 0) return statusAnswer('statusCode', nothing('types', types.length, offset, counted))
    const collapsed = asksCollapsed(asked.parameters)
    return { status: 200, body: () => renderTypes(shown, collapsed, found(types.length, counted)) }
  })
}

/** `GET /v1/contextTypes/{type}`: the attributes of the entities of a type [context 9]. */
export function showType(environment: Environment): Operation {
  return typesOperation(environment, (types, asked) => {
    const name = segment(asked, 'type')
    const { offset, limit, counted } = pageAsked(asked.parameters)
    const attributes = types.find(({ type }) => type === name)?.attributes ?? []
    const shown = attributes.slice(offset, offset + limit)
    if (shown.length === 0) {
      const statusCode = nothing('attributes', attributes.length, offset, counted)
      return { status: 200, body: JSON.stringify({ name, statusCode }) }
    }
    const statusCode = found(attributes.length, counted)
    return { status: 200, body: () => JSON.stringify({ name, attributes: shown, statusCode }) }
  })
}

function typesOperation(
  environment: Environment,
  answer: (types: readonly TypeSummary[], asked: Asked) => Answer,
): Operation {
  return {
    use: 'read',
    prepare: (asked) => {
      const wrong = checkSegments(asked, environment.options.strictNgsiv1Ids)
      if (wrong) return refused(wrong)
      return granted(() =>
        forTenant(environment, asked, (tenant) => withTypes(environment.broker, asked, tenant, answer)),
      )
    },
  }
}

async function withTypes(
  broker: Broker,
  asked: Asked,
  tenant: Tenant,
  answer: (types: readonly TypeSummary[], asked: Asked) => Answer,
): Promise<Answer> {
  const types = await broker.types(tenant, pathsOfRead(asked.paths), asked.client)
  return types.ok ? answer(types.value, asked) : unavailableAnswer(types.refusal)
}

function found(count: number, counted: boolean) {
  return counted ? statusOf(200, `Count: ${count}`) : okStatus
}

function nothing(what: 'types' | 'attributes', count: number, offset: number, counted: boolean) {
  if (!counted || count === 0) return statusOf(404)
  return statusOf(404, `Number of ${what}: ${count}. Offset is ${offset}`)
}

function renderTypes(types: readonly TypeSummary[], collapsed: boolean, status: ReturnType<typeof found>): string {
  const items = types.map(({ type, attributes }) =>
    JSON.stringify(collapsed || attributes.length === 0 ? { name: type } : { name: type, attributes }),
  )
  return `{"types":[${items.join(',')}],"statusCode":${renderStatus(status)}}`
}
