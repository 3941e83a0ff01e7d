import { setTimeout as sleep } from 'node:timers/promises'
import { err, ok, type Result } from '../result.js'
import { type ClusterState, findClusterState } from './cluster-state.js'
import type { EtcdClient } from './etcd-client.js'

/** How long etcd may take to answer when a broker starts. */
const patience_ms = 10_000
const again_ms = 200

/**
 * What stands at the prefix of a cluster, as soon as a majority of etcd answers; nothing where none stands. Refuses in words for the
 * operator. `warn` is told of an etcd that is not meant for use.
 */
export async function standingCluster(
  client: EtcdClient,
  prefix: string,
  warn: (line: string) => void,
): Promise<Result<ClusterState | undefined, string>> {
  const until = performance.now() + patience_ms
  for (;;) {
    const status = await client.call('status', {})
    const found = status.ok ? await findClusterState(client, prefix) : err({ ...status.error, kind: 'unavailable' })
    if (status.ok && found.ok) {
      const outdated = outdatedText(status.value.version)
      if (outdated !== undefined) warn(outdated)
      return ok(found.value)
    }
    if (!status.ok && status.error.kind === 'refused') return err(status.error.reason)
    if (!found.ok && (found.error.kind === 'unreadable' || performance.now() > until)) return err(found.error.reason)
    await sleep(again_ms)
  }
}

/** Versions before lose leases too early or get no fixes any more; nothing here rests on leases. */
function outdatedText(version: string): string | undefined {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number)
  const isOutdated = major < 3 || (major === 3 && (minor < 5 || (minor === 5 && patch < 13)))
  return isOutdated ? `etcd ${version} is out of support: 3.5.13 or later is meant for use` : undefined
}
