import { type Given, refuse } from '../../api/ngsi2/parse/tree.js'
import type { EntityId, EntityType } from '../../model/context/entity.js'
import {
  entriesOf,
  forwardingModes,
  maxEntries,
  type RegisteredAttribute,
  type RegisteredContext,
  type RegisteredEntity,
  type RegistrationId,
  type RegistrationTerms,
  registrationStatuses,
} from '../../model/registration/registration.js'
import { never } from '../../time.js'
import type { RegistrationItem } from './items.js'
import { LineFields, lineDate, lineText } from './line-fields.js'

export function registrationLine({ registration }: RegistrationItem): string {
  const { id, tenant, path, expires, contexts, copiedFrom, terms } = registration
  return lineText('registration', tenant, {
    servicePath: path,
    id,
    expires: expires < never ? lineDate(expires) : undefined,
    contexts: contexts.map(contextMembers),
    copiedFrom,
    terms,
  })
}

function contextMembers({ entities, attributes, provider, ordinal }: RegisteredContext): object {
  return {
    entities: entities.map(({ id, type, everyId }) => ({ id, type: type === '' ? undefined : type, everyId })),
    attributes: attributes.map(({ name, type, isDomain }) => ({
      name,
      type: type === '' ? undefined : type,
      isDomain: isDomain ? true : undefined,
    })),
    provider,
    ordinal,
  }
}

const names = new Set(['kind', 'tenant', 'servicePath', 'id', 'expires', 'contexts', 'copiedFrom', 'terms'])

/** Reads the line of a registration. Only within `checked`. */
export function readRegistrationLine(line: Given): RegistrationItem {
  const fields = new LineFields(line, '').only(names)
  const contexts = fields.list('contexts', readContext)
  if (contexts.length === 0) refuse('contexts is empty')
  if (entriesOf(contexts) > maxEntries) refuse(`it has more than ${maxEntries} entries of entities and attributes`)
  const copiedFrom = fields.optionalText('copiedFrom')
  const terms = fields.given('terms')
  return {
    kind: 'registration',
    registration: {
      id: fields.hexId() as RegistrationId,
      tenant: fields.tenant(),
      path: fields.path(),
      expires: fields.date('expires', never),
      contexts,
      ...(copiedFrom !== undefined && { copiedFrom }),
      ...(terms !== undefined && { terms: readRegistrationTerms(terms) }),
    },
  }
}

const contextNames = new Set(['entities', 'attributes', 'provider', 'ordinal'])
const entityNames = new Set(['id', 'type', 'everyId'])
const attributeNames = new Set(['name', 'type', 'isDomain'])

function readContext(given: Given, where: string): RegisteredContext {
  const fields = new LineFields(given, where).only(contextNames)
  const ordinal = fields.optionalNumber('ordinal', 0)
  return {
    entities: fields.list('entities', readRegisteredEntity),
    attributes: fields.list('attributes', readRegisteredAttribute),
    provider: fields.text('provider'),
    ...(ordinal !== undefined && { ordinal }),
  }
}

function readRegisteredEntity(given: Given, where: string): RegisteredEntity {
  const fields = new LineFields(given, where).only(entityNames)
  const entity = { id: fields.text('id') as EntityId, type: fields.text('type', '') as EntityType }
  return fields.flag('everyId') ? { ...entity, everyId: true } : entity
}

function readRegisteredAttribute(given: Given, where: string): RegisteredAttribute {
  const fields = new LineFields(given, where).only(attributeNames)
  return { name: fields.text('name'), type: fields.text('type', ''), isDomain: fields.flag('isDomain') }
}

const termsNames = new Set(['description', 'status', 'mode', 'legacy'])

function readRegistrationTerms(given: Given): RegistrationTerms {
  const fields = new LineFields(given, 'terms').only(termsNames)
  return {
    description: fields.text('description', ''),
    status: fields.one('status', registrationStatuses, 'active'),
    mode: fields.one('mode', forwardingModes, 'all'),
    legacy: fields.flag('legacy'),
  }
}
