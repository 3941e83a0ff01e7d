import { resolve } from 'node:path'
import type { ApiRequest, Prepared, Resource } from '../../broker/operations/api.js'
import { json } from '../../broker/operations/response.js'
import type { Setting } from '../../flags/command-line.js'
import type { Options } from '../../flags/settings.js'
import type { Log } from '../../observe/log/log.js'
import { traceArea } from '../../observe/log/trace.js'
import type { Measures } from '../../observe/measure/measures.js'
import { mostSlow } from '../../observe/measure/slow-requests.js'
import { ok } from '../../result.js'
import { formatVersion } from '../../storage/folder/folder-format.js'
import { libraryVersions, versionFacts } from '../../version.js'
import { logChange, operation, type ProcessPeers } from '../management/parts.js'
import { censusViews, entityViews } from './entities.js'
import { settingsInForce } from './settings-in-force.js'
import type { Configuration, SlowList } from './shapes.js'
import { alarmViews, receiverViews, registrationViews } from './stored-lists.js'
import { subscriptionViews } from './subscriptions.js'
import { type ConsoleParts, GivenParameters, view } from './views.js'

/** Views of what all tenants have stored, as resources of the management [console: data]. */
export function viewResources(parts: ConsoleParts): readonly Resource[] {
  return [
    ...subscriptionViews(parts),
    ...registrationViews(parts),
    ...receiverViews(parts),
    ...alarmViews(parts),
    ...censusViews(parts),
    ...entityViews(parts),
  ]
}

interface ConfigParts {
  readonly settings: readonly Setting[]
  readonly options: Options
  readonly measures: Measures
}

/** The settings and where each came from, the versions of the program and its libraries, the data folder [console: data]. */
export function configResources({ settings, options, measures }: ConfigParts): readonly Resource[] {
  const { partitions } = measures.threads
  const sizes = () => Array.from({ length: partitions }, (_, number) => measures.partitions.value('used_bytes', number))
  const shown = (): Configuration => ({
    version: versionFacts.version,
    gitHash: versionFacts.git_hash,
    libraries: libraryVersions(),
    dataFolder: {
      path: resolve(options.dbPath),
      format: formatVersion,
      partitions,
      used_bytes: sizes().reduce((sum, bytes) => sum + bytes, 0),
    },
    traceAreas: traceArea,
    settings: settingsInForce(settings, options, measures),
  })
  return [view('/admin/config', () => ok(() => json(shown())))]
}

interface SlowParts {
  readonly measures: Measures
  readonly peers: ProcessPeers
  readonly log: Log
}

const longest_ms = 3_600_000

/** The slowest recent requests of all front ends, and the time above which requests are kept [console: data]. */
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
