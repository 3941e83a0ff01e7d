import type { ApiRequest, ApiResponse, StatusText } from '../../api.js'
import type { Unavailable } from '../../broker/broker.js'
import type { ProviderFailure } from '../../providers/provider-request.js'
import { planUpdate, type UpdateForward } from '../../providers/update-plan.js'
import { err, ok, type Result } from '../../result.js'
import { inSlices } from '../../slices.js'
import { now } from '../../time.js'
import {
  type ElementResponse,
  type ElementResult,
  manyResponsesOf,
  resultsOf,
  type UpdateRequest,
} from '../carry-out.js'
import { type ErrorShape, statusAnswer, unavailableAnswer } from '../render/responses.js'
import { statusOf } from '../render/status.js'
import type { Ngsi1Services } from '../services.js'
import { forwarderOf } from './forwarder.js'
import { gapsOf } from './gaps.js'
import { joined, sharedGaps } from './join.js'
import { readUpdateAnswer } from './provider-answers.js'
import { updateForProvider } from './provider-requests.js'
import { type ForwardedUpdate, outcomesOf, statusOfFailure } from './results.js'

/** Nothing of an update could be done, neither here nor at a provider: the one status of the whole. */
export interface NothingDone {
  readonly kind: 'nothingDone'
  readonly status: StatusText
}

/**
 * Carries out an update here, then passes on what is not held here and somebody is registered for [subscriptions 8.3].
 * What is done here is on disk before the first request goes out.
 */
export async function carryOutEverywhere(
  environment: Ngsi1Services,
  request: ApiRequest,
  asked: UpdateRequest,
): Promise<Result<readonly ElementResponse[], Unavailable | NothingDone>> {
  const fates = await resultsOf(environment.broker, asked)
  if (!fates.ok) return fates
  const here = async (): Promise<Result<readonly ElementResponse[], never>> =>
    ok(await manyResponsesOf(asked.elements, fates.value, asked.action))
  const isPassedOn = asked.action === 'UPDATE' || asked.action === 'REPLACE'
  const way = isPassedOn ? forwarderOf(environment, request, asked.tenant) : undefined
  if (way === undefined) return here()
  const gaps = await gapsOf(asked, fates.value)
  const lookup = { tenant: asked.tenant, paths: [{ path: asked.path, below: false }], now: now() }
  const { forwards, sharings } = await inSlices(planUpdate(way.index, lookup, gaps))
  if (forwards.length === 0) return here()
  const asking = await way.ask('updateContext', forwards, updateForProvider, readUpdateAnswer)
  const somethingDone = fates.value.some(mayBeDone)
  if (!asking.ok && !somethingDone) return asking
  const passed = asking.ok ? asking.value : forwards.map(notAsked)
  const failure = somethingDone ? undefined : onlyFailure(passed)
  if (failure) return err({ kind: 'nothingDone', status: statusOfFailure(failure) })
  const responses = joined(asked, fates.value, sharedGaps(gaps, sharings), outcomesOf(passed))
  return responses.length === 0 ? err({ kind: 'nothingDone', status: statusOf(404) }) : ok(responses)
}

/** What is done here is answered, whatever providers can be asked for. */
function notAsked(forward: UpdateForward): ForwardedUpdate {
  return { forward, answer: err({ kind: 'unreachable', reason: 'too many requests wait for context providers' }) }
}

/** Whether something of an element was done here, or failed so that it has to be told apart from what was. */
function mayBeDone(fate: ElementResult): boolean {
  if (fate === undefined || !('items' in fate)) return false
  return fate.items.some(({ refusal }) => refusal === undefined || refusal.kind === 'unavailable')
}

function onlyFailure([first, ...others]: readonly ForwardedUpdate[]): ProviderFailure | undefined {
  return first === undefined || others.length > 0 || first.answer.ok ? undefined : first.answer.error
}

/** The answer to an update of which nothing could be done; `shape` is that of the errors of its operation. */
export function failedUpdate(shape: ErrorShape, refusal: Unavailable | NothingDone): ApiResponse {
  return refusal.kind === 'nothingDone' ? statusAnswer(shape, refusal.status) : unavailableAnswer(refusal)
}
