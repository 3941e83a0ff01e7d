import type { Test } from 'tap'
import { EtcdProcesses, etcdMembers, hasEtcd } from '../../bench/cluster/etcd-processes.js'

/** Why tests with a real etcd are left out; false where it is installed (`etcd-server` of Debian). */
export const noEtcd: string | false = hasEtcd() ? false : 'no etcd here: Debian has it as etcd-server'

/** A real etcd of several members on this machine that ends with the test. */
export class EtcdMembers extends EtcdProcesses {
  /** Of HTTPS it is not waited until it serves: it may not serve everybody. */
  static async start(
    t: Test,
    size: number,
    folder: string,
    flags: readonly string[] = [],
    scheme: 'http' | 'https' = 'http',
  ): Promise<EtcdMembers> {
    const etcd = new EtcdMembers(await etcdMembers(size, folder, scheme), flags)
    t.teardown(() => etcd.end())
    etcd.startAll()
    if (scheme === 'http') await etcd.untilHealthy()
    return etcd
  }
}
