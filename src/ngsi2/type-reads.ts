import { type ApiRequest, type ApiResponse, type Operation, segment } from '../api.js'
import type { TypeSummary } from '../broker/broker.js'
import { quote } from '../context/json-text.js'
import { pathsOfRead } from '../context/service-path.js'
import { inSlices, LongText, listText, type Steps } from '../slices.js'
import { pathRead } from './checked-operation.js'
import { refused, unavailable } from './ngsi2-errors.js'
import type { Ngsi2Services } from './ngsi2-services.js'
import { optionsOf, pageOf } from './uri-parameters.js'

/** `GET /v2/types` [NGSIv2 context 13]. */
export function listEntityTypes(services: Ngsi2Services): Operation {
  return typesRead(services, async (types, { parameters }) => {
    const { offset, limit, counted } = pageOf(parameters)
    const shown = untypedFirst(types).slice(offset, offset + limit)
    const namesOnly = optionsOf(parameters).has('values')
    const body = await inSlices(namesOnly ? listText(shown, ({ type }) => quote(type)) : typesText(shown))
    return {
      status: 200,
      body,
      ...(counted && { headers: { 'Fiware-Total-Count': String(types.length) } }),
    }
  })
}

/** `GET /v2/types/{type}` [NGSIv2 context 13]. */
export function showEntityType(services: Ngsi2Services): Operation {
  return typesRead(services, async (types, request) => {
    const name = segment(request, 'type')
    const summary = types.find(({ type }) => type === name)
    return summary === undefined ? typeUnknown : { status: 200, body: `{${await inSlices(membersOf(summary))}}` }
  })
}

const typeUnknown = refused('NotFound', 'Entity type not found')

function typesRead(
  services: Ngsi2Services,
  respond: (types: readonly TypeSummary[], request: ApiRequest) => Promise<ApiResponse>,
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

/** A list of types, in steps. */
export function* typesText(types: readonly TypeSummary[]): Steps<string> {
  const texts = new LongText()
  for (const summary of types) {
    texts.push(`{"type":${quote(summary.type)},${yield* membersOf(summary)}}`)
    yield
  }
  return `[${texts.joined}]`
}

/** The expiration of an entity is no attribute of its type. In steps: a type may have any number of attributes. */
function* membersOf({ attributes, attributeTypes, entities }: TypeSummary): Steps<string> {
  const members = new LongText()
  for (const [at, name] of attributes.entries()) {
    if (name === 'dateExpires') continue
    const types = (attributeTypes?.[at] ?? []).map(quote).join(',')
    members.push(`${quote(name)}:{"types":[${types}]}`)
    yield
  }
  return `"attrs":{${members.joined}},"count":${entities}`
}
