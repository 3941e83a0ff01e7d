import { type ApiResponse, type Operation, segment } from '../api.js'
import type { Value } from '../context/entity.js'
import { plainDate } from '../context/json-text.js'
import type { ShownAttribute } from '../providers/merge-responses.js'
import { pathRead } from './checked-operation.js'
import { respondWithEntity } from './entity-reads.js'
import { attributeUnknown, refused } from './ngsi2-errors.js'
import type { Ngsi2Services } from './ngsi2-services.js'
import { attributeNamed, valueShown } from './render/shown.js'

/** `GET /v2/entities/{id}/attrs/{name}/value` [NGSIv2 context 9.3]. */
export function showValue(services: Ngsi2Services): Operation {
  return pathRead(services, (request, tenant) =>
    respondWithEntity(services, request, tenant, [segment(request, 'name')], (entity) => {
      const attribute = attributeNamed(entity, segment(request, 'name'))
      return attribute === undefined ? attributeUnknown : valueResponse(attribute, request.headers.accept ?? '*/*')
    }),
  )
}

/** Compound values are JSON under the name that the client likes best, all others plain text [NGSIv2 context 9.3]. */
function valueResponse(attribute: ShownAttribute, accept: string): ApiResponse {
  const value = valueShown(attribute)
  if (typeof value === 'object' && value !== null) {
    return { status: 200, contentType: nameOfJson(accept), body: () => JSON.stringify(value) }
  }
  if (!accepted(accept).some(({ range }) => takesText.has(range))) return textOnly
  return { status: 200, contentType: 'text/plain', body: scalarText(value, attribute.type) }
}

const textOnly = refused('NotAcceptable', 'accepted MIME types: text/plain')

/** Texts stand between quotation marks, otherwise as they are. */
function scalarText(value: Value, type: string): string {
  return typeof value === 'string' ? `"${value}"` : (plainDate(value, type) ?? JSON.stringify(value))
}

const takesText: ReadonlySet<string> = new Set(['*/*', 'text/*', 'text/plain'])
const takesJson: ReadonlySet<string> = new Set(['*/*', 'application/*', 'application/json'])

function nameOfJson(accept: string): 'application/json' | 'text/plain' {
  let best: { readonly name: 'application/json' | 'text/plain'; readonly quality: number } | undefined
  for (const { range, quality } of accepted(accept)) {
    if (!takesJson.has(range) && !takesText.has(range)) continue
    const name = takesJson.has(range) ? 'application/json' : 'text/plain'
    if (best === undefined || quality > best.quality) best = { name, quality }
  }
  return best?.name ?? 'application/json'
}

interface AcceptedRange {
  readonly range: string
  readonly quality: number
}

/** The ranges of an Accept header, whose syntax has been checked; what has quality 0 is not accepted. */
function accepted(accept: string): readonly AcceptedRange[] {
  return accept
    .split(',')
    .map((item) => {
      const [range = '', quality = 'q=1'] = item.split(';', 2)
      return { range: range.trim().toLowerCase(), quality: Number(quality.split('=', 2)[1]) }
    })
    .filter(({ quality }) => quality > 0)
}
