import type { StatusText } from '../../api/api.js'
import type { Unavailable } from '../../broker/broker.js'
import type { Forwarder } from '../../providers/forwarder.js'
import type { ProviderFailure } from '../../providers/provider-request.js'
import { type ForwardedUpdate, updateAtProviders } from '../../providers/remote-update.js'
import { outcomesOf } from '../../providers/share-outcomes.js'
import { planUpdate } from '../../providers/update-plan.js'
import { err, ok, type Result } from '../../result.js'
import { inSlices } from '../../slices.js'
import { now } from '../../time.js'
import type { ElementResponse, ElementResult, UpdateRequest } from '../element-results.js'
import { statusOf } from '../render/status.js'
import { statusOfFailure } from './fate-status.js'
import { gapsOf, joined, sharedGaps } from './gaps.js'

/** Nothing of an update could be done, neither here nor at a provider: the one status of the whole. */
export interface NothingDone {
  readonly kind: 'nothingDone'
  readonly status: StatusText
}

/**
 * Passes on what an update that was carried out here left undone, and joins what became of it; undefined when nobody is
 * registered for any of it [subscriptions 8.3].
 */
export async function fillGaps(
  forwarder: Forwarder,
  update: UpdateRequest,
  results: readonly ElementResult[],
): Promise<Result<readonly ElementResponse[], Unavailable | NothingDone> | undefined> {
  const gaps = await gapsOf(update, results)
  const paths = [{ path: update.path, below: false }]
  const lookup = { tenant: update.tenant, paths, now: now(), use: 'update', api: 'ngsi1' } as const
  const { forwards, sharings } = await inSlices(planUpdate(forwarder.index, lookup, gaps))
  if (forwards.length === 0) return undefined
  const somethingDone = results.some(mayBeDone)
  const forwarded = await updateAtProviders(forwarder, forwards, somethingDone)
  if (!forwarded.ok) return forwarded
  const passed = forwarded.value
  const failure = somethingDone ? undefined : onlyFailure(passed)
  if (failure) return err({ kind: 'nothingDone', status: statusOfFailure(failure) })
  const responses = joined(update, results, sharedGaps(gaps, sharings), outcomesOf(passed))
  return responses.length === 0 ? err({ kind: 'nothingDone', status: statusOf(404) }) : ok(responses)
}

/** Whether something of an element was done here, or failed so that it has to be told apart from what was. */
function mayBeDone(result: ElementResult): boolean {
  if (result === undefined || !('items' in result)) return false
  return result.items.some(({ refusal }) => refusal === undefined || refusal.kind === 'unavailable')
}

function onlyFailure([first, ...others]: readonly ForwardedUpdate[]): ProviderFailure | undefined {
  return first === undefined || others.length > 0 || first.answer.ok ? undefined : first.answer.error
}
