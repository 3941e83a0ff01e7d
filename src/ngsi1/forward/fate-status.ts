import type { StatusText } from '../../api/api.js'
import type { EntityId } from '../../context/entity.js'
import type { ProviderFailure } from '../../providers/provider-request.js'
import type { ShareFate } from '../../providers/share-outcomes.js'
import { statusOf } from '../render/status.js'
import { invalidAnswer } from './query-forwarding.js'

/** The status of what became of some attributes of an entity that a provider was asked to update [subscriptions 8.3]. */
export function statusOfFate(became: ShareFate, id: EntityId): StatusText {
  switch (became.kind) {
    case 'answered':
      return became.status
    case 'notFound':
      return statusOf(404, id)
    case 'failed':
      return statusOfFailure(became.failure)
  }
}

/** The status of a request that failed [subscriptions 8.3]. */
export function statusOfFailure({ kind }: ProviderFailure): StatusText {
  switch (kind) {
    case 'unreachable':
    case 'responseRefusing':
      return statusOf(404, 'error forwarding update')
    case 'responseEmpty':
      return statusOf(404, invalidAnswer)
    case 'responseUnreadable':
      return statusOf(404)
  }
}
