import type { ApiRequest, Prepared, Resource } from '../api/api.js'
import { json } from '../api/response.js'
import type { Log } from '../log/log.js'
import { logChange } from '../management/changes.js'
import { operation } from '../management/response-forms.js'
import type { ProcessPeers } from '../management/shared-answers.js'
import type { Measures } from '../measure/measures.js'
import { mostSlow } from '../measure/slow-requests.js'
import { GivenParameters } from './given-parameters.js'
import type { SlowList } from './shapes.js'

/** What the resources of slow requests work on. */
interface SlowParts {
  readonly measures: Measures
  readonly peers: ProcessPeers
  readonly log: Log
}

const longest_ms = 3_600_000

/** The last requests that took longer than so many milliseconds, over all front ends, and how many those are [console: data]. */
export function slowResources({ measures, peers, log }: SlowParts): readonly Resource[] {
  const { switches } = measures

  async function shown() {
    const parts = await peers.gather('slow', undefined)
    const requests = parts.flat().toSorted((one, other) => other.time_ms - one.time_ms)
    const list: SlowList = { above: switches.get('slowAbove_ms'), requests: requests.slice(0, mostSlow) }
    return json(list)
  }

  function preparedChange(request: ApiRequest): Prepared {
    const given = new GivenParameters(request, ['above'])
    const above_ms = given.whole('above', -1, 0, longest_ms)
    if (above_ms < 0) given.refuse(`the URI parameter above is missing: milliseconds up to ${longest_ms}, 0 for none`)
    return given.prepared(async () => {
      switches.set('slowAbove_ms', above_ms)
      logChange(log, request, `slow requests are kept above ${above_ms} ms`)
      return json({ above: above_ms })
    })
  }

  return [
    {
      pattern: '/admin/slow',
      anyCase: false,
      polled: true,
      operations: { GET: operation('read', shown), PUT: { use: 'write', prepare: preparedChange } },
    },
  ]
}
