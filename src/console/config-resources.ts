import { resolve } from 'node:path'
import type { Resource } from '../api/api.js'
import { json } from '../api/response.js'
import type { Setting } from '../command-line/command-line.js'
import { formatVersion } from '../lmdb/folder-format.js'
import { operation } from '../management/response-forms.js'
import type { Measures } from '../measure/measures.js'
import type { Options } from '../options.js'
import { traceArea } from '../trace-area.js'
import { libraryVersions, versionFacts } from '../version.js'
import type { Configuration } from './shapes.js'

/** What the resource of settings shows. */
interface ConfigParts {
  readonly settings: readonly Setting[]
  readonly options: Pick<Options, 'dbPath'>
  readonly measures: Measures
}

/** Every setting with where it came from, and what runs on which data [console: data]. */
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
    settings,
  })
  const get = operation('read', () => json(shown()))
  return [{ pattern: '/admin/config', anyCase: false, polled: true, operations: { GET: get } }]
}
