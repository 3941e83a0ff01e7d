import { err, ok, type Result } from '../result.js'
import type { ForwardRefusal } from '../shared-memory/forward-limit.js'
import type { Forwarder, ForwardResult } from './forwarder.js'
import type { UpdateAnswer } from './provider-format.js'
import type { UpdateForward } from './update-plan.js'

/** An update that was passed on. */
export type ForwardedUpdate = ForwardResult<UpdateForward, UpdateAnswer>

/**
 * Passes an update on, all at the same time. What is done here is answered, whatever providers can be asked for: only without
 * it a refusal to wait for them is that of the whole [subscriptions 8.3], [NGSIv2 subscriptions 11.3].
 */
export async function updateAtProviders(
  forwarder: Forwarder,
  forwards: readonly UpdateForward[],
  somethingDone: boolean,
): Promise<Result<readonly ForwardedUpdate[], ForwardRefusal>> {
  try {
    const passed = await forwarder.ask(
      {
        operation: 'update',
        message: (format, forward: UpdateForward) => format.update(forward),
        read: (format, response) => format.readUpdate(response),
      },
      forwards,
    )
    return passed.ok || !somethingDone ? passed : ok(forwards.map(notAsked))
  } finally {
    forwarder.end()
  }
}

function notAsked(forward: UpdateForward): ForwardedUpdate {
  return { forward, answer: err({ kind: 'unreachable', reason: 'too many requests wait for context providers' }) }
}
