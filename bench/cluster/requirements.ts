import { existsSync } from 'node:fs'
import type { Harness } from '../harness.js'
import { WrongCommandLine } from '../options.js'
import { hasEtcd } from './etcd-processes.js'
import type { NodeStart } from './nodes.js'
import { ProcessorShares } from './processor-share.js'

/**
 * How the nodes of a benchmark are started; nothing when it cannot run here, which is noted. One that was named is refused
 * as a wrong command line. `isShared` says whether brokers are held to the share of the options.
 */
export function nodeStart(
  harness: Harness,
  bench: string,
  { isShared }: { readonly isShared: boolean },
): NodeStart | undefined {
  const { main, flags, partitions, share, areNamed } = harness.options
  if (!harness.hasOwnBrokers(bench)) return undefined
  const refuse = (why: string): undefined => {
    if (areNamed) throw new WrongCommandLine(`${bench}: ${why}`)
    harness.report.note(`Left out: ${bench}: ${why}.`)
  }
  if (!hasEtcd()) return refuse('etcd and etcdctl are to be on the path (etcd-server and etcd-client of Debian)')
  if (!existsSync('/proc/self/stat')) return refuse('the processor time of other processes is known on Linux only')
  if (!isShared || share === undefined) return { main, flags, partitions, shares: undefined }
  const shares = ProcessorShares.of(share)
  if (shares.ok) return { main, flags, partitions, shares: shares.value }
  return refuse(`no broker can be held to ${share} of a processor: ${shares.error} (--no-share goes without)`)
}
