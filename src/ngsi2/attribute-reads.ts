import { type Operation, segment } from '../api.js'
import { pathRead } from './checked-operation.js'
import { respondWithEntity } from './entity-reads.js'
import { attributeUnknown } from './ngsi2-errors.js'
import type { Ngsi2Services } from './ngsi2-services.js'
import { attributeText } from './render/entity-text.js'
import { attributeNamed } from './render/shown.js'
import { representationOf } from './uri-parameters.js'

/** `GET /v2/entities/{id}/attrs/{name}` [NGSIv2 context 9.1]. */
export function showAttribute(services: Ngsi2Services): Operation {
  return pathRead(services, (request, tenant) =>
    respondWithEntity(services, request, tenant, [segment(request, 'name')], (entity) => {
      const attribute = attributeNamed(entity, segment(request, 'name'))
      if (attribute === undefined) return attributeUnknown
      const { form, metadata } = representationOf(request.parameters)
      return {
        status: 200,
        body: () => attributeText(attribute, form === 'keyValues' ? form : 'normalized', metadata),
      }
    }),
  )
}
