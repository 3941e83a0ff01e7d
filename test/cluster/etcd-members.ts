import type { Test } from 'tap'
import { EtcdProcesses, etcdMembers, hasEtcd } from '../../bench/cluster/etcd-processes.js'
import { newMemoryFolder, removeMemoryFolder } from '../memory-folder.js'

/** The variable that says where the etcd is that the tests of a run share. */
export const etcdOfRun = 'RIGEL_TEST_ETCD'

/** Why tests with a real etcd are left out; false where it is installed (`etcd-server` of Debian). */
export const noEtcd: string | false = hasEtcd() ? false : 'no etcd here: Debian has it as etcd-server'

/** A real etcd of several members on this machine that ends with the test. */
export class EtcdMembers extends EtcdProcesses {
  /**
   * The etcd that the tests of a run share, for tests that leave it as it is: their clusters or prefixes are their own. A file that runs
   * alone has one of its own.
   */
  static async ofRun(file: Test): Promise<EtcdMembers> {
    const url = process.env[etcdOfRun]
    if (url === undefined) return EtcdMembers.start(file, 1)
    return new EtcdMembers([{ name: 'm0', url, peer: '', data: '' }])
  }

  /** Of HTTPS it is not waited until it serves: it may not serve everybody. Its data is in memory, unless a folder is given. */
  static async start(
    t: Test,
    size: number,
    flags: readonly string[] = [],
    {
      scheme = 'http',
      folder = folderInMemory(t),
    }: { readonly scheme?: 'http' | 'https'; readonly folder?: string } = {},
  ): Promise<EtcdMembers> {
    const etcd = new EtcdMembers(await etcdMembers(size, folder, scheme), flags)
    t.teardown(() => etcd.end())
    etcd.startAll()
    if (scheme === 'http') await etcd.untilHealthy()
    return etcd
  }
}

/** A folder that goes behind what the test tears down later. */
function folderInMemory(t: Test): string {
  const folder = newMemoryFolder()
  t.teardown(() => removeMemoryFolder(folder))
  return folder
}
