import { versionFacts } from '../version.js'
import type {
  DescribedParameter,
  DescribedPath,
  DescribedResponse,
  DescribedTag,
  JsonSchema,
  Reference,
} from './description.js'
import { managementLivePaths } from './management-live-paths.js'
import { managementLogPaths } from './management-log-paths.js'
import { managementSchemas } from './management-schemas.js'
import { managementStatePaths } from './management-state-paths.js'
import { managementStatisticsPaths } from './management-statistics-paths.js'
import { managementViewPaths } from './management-view-paths.js'
import { managementViewSchemas } from './management-view-schemas.js'
import { ngsi1AvailabilityPaths } from './ngsi1-availability-paths.js'
import { ngsi1ContextPaths } from './ngsi1-context-paths.js'
import { ngsi1ConveniencePaths } from './ngsi1-convenience-paths.js'
import { ngsi1Errors } from './ngsi1-operation.js'
import { ngsi1RegistryPaths } from './ngsi1-registry-paths.js'
import { ngsi1Schemas } from './ngsi1-schemas.js'
import { ngsi1SubscriptionPaths } from './ngsi1-subscription-paths.js'
import { ngsi1SubscriptionSchemas } from './ngsi1-subscription-schemas.js'
import { ngsi2AttributePaths } from './ngsi2-attribute-paths.js'
import { ngsi2BatchPaths } from './ngsi2-batch-paths.js'
import { ngsi2EntityPaths } from './ngsi2-entity-paths.js'
import { ngsi2RegistrationPaths, ngsi2RegistrationSchemas } from './ngsi2-registration-paths.js'
import { ngsi2Schemas } from './ngsi2-schemas.js'
import { ngsi2SubscriptionPaths } from './ngsi2-subscription-paths.js'
import { ngsi2SubscriptionSchemas } from './ngsi2-subscription-schemas.js'
import { securitySchemes, sharedParameters, sharedResponses, sharedSchemas } from './shared-components.js'

/** All that the broker takes, by what it is about, in the order of the reference page. */
export const describedTags: readonly DescribedTag[] = [
  ngsi2EntityPaths,
  ngsi2AttributePaths,
  ngsi2BatchPaths,
  ngsi2SubscriptionPaths,
  ngsi2RegistrationPaths,
  ngsi1ContextPaths,
  ngsi1ConveniencePaths,
  ngsi1SubscriptionPaths,
  ngsi1RegistryPaths,
  ngsi1AvailabilityPaths,
  managementStatePaths,
  managementLivePaths,
  managementViewPaths,
  managementStatisticsPaths,
  managementLogPaths,
]

/** Whatever operations refer to. */
export const describedComponents: {
  readonly schemas: Readonly<Record<string, JsonSchema>>
  readonly parameters: Readonly<Record<string, DescribedParameter>>
  readonly responses: Readonly<Record<string, DescribedResponse>>
} = {
  schemas: {
    ...sharedSchemas,
    ...ngsi2Schemas,
    ...ngsi2SubscriptionSchemas,
    ...ngsi2RegistrationSchemas,
    ...ngsi1Schemas,
    ...ngsi1SubscriptionSchemas,
    ...managementSchemas,
    ...managementViewSchemas,
  },
  parameters: sharedParameters,
  responses: { ...sharedResponses, ...ngsi1Errors },
}

/** What holds for every request. */
export const describedIntroduction = [
  'A context broker for NGSI: NGSIv2 and NGSIv1 on the same entities, and its management.',
  'A wrong method is 405, and `Allow` names the right ones. A head that is too large is 431, and a request that does not arrive in time 408; both have no body.',
  'Every response has the `Fiware-Correlator` of its request, or a new one.',
].join(' ')

/** The description of the broker in OpenAPI 3.1, as the text of a JSON document. */
export function openApiText(): string {
  return JSON.stringify({
    openapi: '3.1.1',
    info: {
      title: 'Rigel',
      version: versionFacts.version,
      description: describedIntroduction,
      license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    tags: describedTags.map(({ name, description }) => ({ name, description })),
    paths: Object.fromEntries(describedTags.flatMap(({ paths }) => paths.flatMap(pathItems))),
    components: {
      ...describedComponents,
      securitySchemes,
    },
  })
}

/** A path with its operations; other names of the resource refer to it. */
function pathItems({ path, aliases = [], operations }: DescribedPath): readonly (readonly [string, object])[] {
  const pointer: Reference = { $ref: `#/paths/${encodeURI(path.replaceAll('/', '~1'))}` }
  return [[path, operations], ...aliases.map((alias) => [alias, pointer] as const)]
}
