import { type ApiRequest, type ApiResponse, type Operation, segment } from '../api.js'
import type { TypeSummary } from '../broker/broker.js'
import { quote } from '../context/json-text.js'
import { pathsOfRead } from '../context/service-path.js'
import { pathRead } from './checked-operation.js'
import { refused, unavailable } from './ngsi2-errors.js'
import type { Ngsi2Services } from './ngsi2-services.js'
import { optionsOf, pageOf } from './uri-parameters.js'

/** `GET /v2/types` [NGSIv2 context 13]. */
export function listEntityTypes(services: Ngsi2Services): Operation {
  return typesRead(services, (types, { parameters }) => {
    const { offset, limit, counted } = pageOf(parameters)
    const shown = untypedFirst(types).slice(offset, offset + limit)
    const namesOnly = optionsOf(parameters).has('values')
    const render = namesOnly ? ({ type }: TypeSummary) => quote(type) : typeText
    return {
      status: 200,
      body: () => `[${shown.map(render).join(',')}]`,
      ...(counted && { headers: { 'Fiware-Total-Count': String(types.length) } }),
    }
  })
}

/** `GET /v2/types/{type}` [NGSIv2 context 13]. */
export function showEntityType(services: Ngsi2Services): Operation {
  return typesRead(services, (types, request) => {
    const name = segment(request, 'type')
    const summary = types.find(({ type }) => type === name)
    return summary === undefined ? typeUnknown : { status: 200, body: () => `{${membersOf(summary)}}` }
  })
}

const typeUnknown = refused('NotFound', 'Entity type not found')

function typesRead(
  services: Ngsi2Services,
  respond: (types: readonly TypeSummary[], request: ApiRequest) => ApiResponse,
): Operation {
  return pathRead(services, async (request, tenant) => {
    const { paths, parameters, client } = request
    const options = optionsOf(parameters)
    const isDetailed = !options.has('noAttrDetail') && !options.has('values')
    const types = await services.broker.types(tenant, pathsOfRead(paths), client, isDetailed)
    return types.ok ? respond(types.value, request) : unavailable(types.error)
  })
}

/** Types come ascending, that of entities without one last. */
function untypedFirst(types: readonly TypeSummary[]): readonly TypeSummary[] {
  const last = types.at(-1)
  return last?.type === '' ? [last, ...types.slice(0, -1)] : types
}

function typeText(summary: TypeSummary): string {
  return `{"type":${quote(summary.type)},${membersOf(summary)}}`
}

/** The expiration of an entity is no attribute of its type. */
function membersOf({ attributes, attributeTypes, entities }: TypeSummary): string {
  const members = attributes.flatMap((name, at) => {
    const types = (attributeTypes?.[at] ?? []).map(quote).join(',')
    return name === 'dateExpires' ? [] : [`${quote(name)}:{"types":[${types}]}`]
  })
  return `"attrs":{${members.join(',')}},"count":${entities}`
}
