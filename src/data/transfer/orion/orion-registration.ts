import { type Given, type GivenObject, refuse } from '../../../api/ngsi2/parse/tree.js'
import type { EntityId, EntityType, Tenant } from '../../../model/context/entity.js'
import {
  entriesOf,
  everyIdPattern,
  forwardingModes,
  maxEntries,
  type RegisteredAttribute,
  type RegisteredContext,
  type RegisteredEntity,
  type RegistrationId,
  type RegistrationTerms,
} from '../../../model/registration/registration.js'
import { parseNotificationUrl } from '../../../model/subscription/targets.js'
import { leftOut, type PartLoss, type RegistrationItem } from '../items.js'
import { LineFields, storedName } from '../line-fields.js'
import type { OrionRead } from './orion-entity.js'
import { arrayIn, endIn, idIn, isTrue, objectIn, textIn } from './orion-values.js'

/** Reads a document of the collection `registrations`, of any version. Only within `checked`. */
export function readOrionRegistration(given: Given, tenant: Tenant): OrionRead<RegistrationItem> {
  const document = objectIn(given, 'the document')
  const losses: PartLoss[] = []
  const contexts = arrayIn(document['contextRegistration'], 'contextRegistration').map((context) => {
    return contextIn(objectIn(context, 'a contextRegistration'), losses)
  })
  if (contexts.length === 0) refuse('contextRegistration is empty')
  if (entriesOf(contexts) > maxEntries) refuse(`it has more than ${maxEntries} entries of entities and attributes`)
  const terms = termsOf(document, contexts.length, losses)
  const servicePath = textIn(document['servicePath']) ?? ''
  return {
    item: {
      kind: 'registration',
      registration: {
        id: idIn(document['_id']) as RegistrationId,
        tenant,
        path: new LineFields({ servicePath: servicePath === '' ? '/' : servicePath }, '').path(),
        expires: endIn(document['expiration']),
        contexts,
        ...(terms && { terms }),
      },
    },
    losses,
  }
}

function contextIn(context: GivenObject, losses: PartLoss[]): RegisteredContext {
  const provider = textIn(context['providingApplication']) ?? ''
  const scheme = parseNotificationUrl(provider)?.scheme
  if (scheme !== 'http' && scheme !== 'https') {
    losses.push(leftOut(`forwarding, since its provider is no URL of http or https: ${provider}`))
  }
  const entities = arrayIn(context['entities'], 'entities').map((entity) => entityIn(objectIn(entity, 'an entity')))
  return {
    entities,
    attributes: arrayIn(context['attrs'], 'attrs').map((each) => attributeIn(objectIn(each, 'an attribute'))),
    provider,
  }
}

function entityIn(entity: GivenObject): RegisteredEntity {
  const id = storedName(textIn(entity['id']) ?? '', 'the id of an entity')
  const type = storedName(textIn(entity['type']) ?? '', 'the type of an entity') as EntityType
  if (!isTrue(entity['isPattern'])) return { id: id as EntityId, type }
  if (id !== everyIdPattern) refuse(`it registers entities by the pattern ${id}; only .* is supported`)
  return { id: everyIdPattern, type, everyId: true }
}

function attributeIn(attribute: GivenObject): RegisteredAttribute {
  return {
    name: storedName(textIn(attribute['name']) ?? '', 'the name of an attribute'),
    type: storedName(textIn(attribute['type']) ?? '', 'the type of an attribute'),
    isDomain: isTrue(attribute['isDomain']),
  }
}

/** The terms of NGSIv2, for a registration with one context; undefined for one of NGSIv1. */
function termsOf(document: GivenObject, contexts: number, losses: PartLoss[]): RegistrationTerms | undefined {
  const description = textIn(document['description']) ?? ''
  const stored = textIn(document['fwdMode'])
  const legacy = (textIn(document['format']) ?? 'JSON').toUpperCase() === 'JSON'
  const mode = forwardingModes.find((each) => each === stored) ?? 'all'
  const status = document['status'] === 'inactive' ? 'inactive' : 'active'
  const terms = { description, status, mode, legacy } as const
  const isEmpty = description === '' && status === 'active' && mode === 'all' && legacy && stored === undefined
  if (isEmpty) return undefined
  if (contexts === 1) return terms
  losses.push(
    leftOut('description, status, forwarding mode and format, which a registration of several contexts does not have'),
  )
  return undefined
}
