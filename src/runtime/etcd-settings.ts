import { readFileSync } from 'node:fs'
import type { EtcdSettings } from '../cluster/etcd-client.js'
import type { Options } from '../options.js'
import { err, ok, type Result } from '../result.js'
import { systemFaultText } from '../system-fault.js'

/** The part of the options that says which cluster the broker is of. */
export type ClusterOptions = NonNullable<Options['cluster']>

/** How the etcd of a cluster is reached. Refuses, in words for the operator, when the password of its user cannot be read. */
export function etcdSettings({
  urls,
  ca,
  cert,
  key,
  user,
  passwordFile,
}: ClusterOptions): Result<EtcdSettings, string> {
  const reached = { urls, ca, cert, key }
  if (user === undefined || passwordFile === undefined) return ok(reached)
  try {
    const password = readFileSync(passwordFile, 'utf8').split(/\r?\n/, 1)[0] ?? ''
    return ok({ ...reached, user: { name: user, password } })
  } catch (fault) {
    return err(`the password of etcd's user (-etcdPasswordFile) cannot be read: ${systemFaultText(fault)}`)
  }
}
