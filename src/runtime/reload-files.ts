import { type ApiKey, readApiKeys } from '../flags/api-keys.js'
import type { Options } from '../flags/settings.js'
import type { Tls } from '../http/listen.js'
import { readTls } from '../http/listen.js'
import type { MainLog } from '../observe/log/main-log.js'
import { ok, type Result } from '../result.js'

/** The parts of front ends that come from files which an operator may replace. */
export interface ReloadTarget {
  /** Uses another key and certificate for new connections. */
  useTls(tls: Tls): void
  useKeys(keys: readonly ApiKey[]): void
}

/**
 * The API keys from the files that the options name; undefined where none is needed. Refuses with a text for the operator.
 */
export function configuredKeys({ apiKeys, multiservice }: Options): Result<readonly ApiKey[] | undefined, string> {
  return apiKeys === undefined ? ok(undefined) : readApiKeys(apiKeys, multiservice)
}

/** Reads the files again; an unusable file changes nothing and is logged. */
export async function reloadFiles(options: Options, log: MainLog, target: ReloadTarget): Promise<void> {
  const keys = configuredKeys(options)
  if (!keys.ok) log.warn('main:keys', `the keys of clients stay as they were: ${keys.error}`)
  else if (keys.value !== undefined) {
    target.useKeys(keys.value)
    log.info('main:keys', `${keys.value.length} keys of clients were read again`)
  }
  const tls = await readTls(options.https)
  if (!tls.ok) log.warn('main:certificate', `key and certificate stay as they were: ${tls.error.reason}`)
  else if (tls.value !== undefined) {
    target.useTls(tls.value)
    log.info('main:certificate', 'key and certificate were read again')
  }
}
