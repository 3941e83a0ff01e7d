import type { ApiRequest, ApiResponse, Operation } from '../api.js'
import type { Broker, TypeSummary } from '../broker/broker.js'
import type { Tenant } from '../context/entity.js'
import { err, ok } from '../result.js'
import { checkSegments, segment } from './convenience.js'
import { asksCollapsed, requestedPage } from './parse/parameters.js'
import { renderStatus } from './render/elements.js'
import { statusAnswer, unavailableAnswer } from './render/responses.js'
import { okStatus, statusOf } from './render/status.js'
import { forTenant, type Ngsi1Services } from './services.js'
import { pathsOfRead } from './tenant.js'

/** `GET /v1/contextTypes`: the types of the entities in the paths of the request [context 9]. */
export function listTypes(environment: Ngsi1Services): Operation {
  return typesOperation(environment, (types, asked) => {
    const { offset, limit, counted } = requestedPage(asked.parameters)
    const shown = types.slice(offset, offset + limit)
    if (shown.length === 0) return statusAnswer('statusCode', nothing('types', types.length, offset, counted))
    const collapsed = asksCollapsed(asked.parameters)
    return { status: 200, body: () => renderTypes(shown, collapsed, found(types.length, counted)) }
  })
}

/** `GET /v1/contextTypes/{type}`: the attributes of the entities of a type [context 9]. */
export function showType(environment: Ngsi1Services): Operation {
  return typesOperation(environment, (types, asked) => {
    const name = segment(asked, 'type')
    const { offset, limit, counted } = requestedPage(asked.parameters)
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
  environment: Ngsi1Services,
  answer: (types: readonly TypeSummary[], asked: ApiRequest) => ApiResponse,
): Operation {
  return {
    use: 'read',
    prepare: (asked) => {
      const wrong = checkSegments(asked, environment.options.strictNgsiv1Ids)
      if (wrong) return err(wrong)
      return ok(() => forTenant(environment, asked, (tenant) => withTypes(environment.broker, asked, tenant, answer)))
    },
  }
}

async function withTypes(
  broker: Broker,
  asked: ApiRequest,
  tenant: Tenant,
  answer: (types: readonly TypeSummary[], asked: ApiRequest) => ApiResponse,
): Promise<ApiResponse> {
  const types = await broker.types(tenant, pathsOfRead(asked.paths), asked.client)
  return types.ok ? answer(types.value, asked) : unavailableAnswer(types.error)
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
