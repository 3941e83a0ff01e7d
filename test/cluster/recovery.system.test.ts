import { spawnSync } from 'node:child_process'
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { before, t as file, test } from 'tap'
import { brokerProgram } from '../program.js'
import { RunningBroker } from '../running.js'
import { EtcdMembers, noEtcd } from './etcd-members.js'
import { givenNodes, levelsShown, nodeFlags, setLevels, tokenFlags } from './given-nodes.js'

let etcd: EtcdMembers

if (noEtcd === false) {
  before(async () => {
    etcd = await EtcdMembers.ofRun(file)
  })
}

test('a cluster that etcd has lost is begun anew behind the longest replicas; who has more than it is refused', {
  skip: noEtcd,
}, async (t) => {
  const folder = t.testdir()
  const token = tokenFlags(folder)
  const { cluster, nodes } = await givenNodes(t, etcd, ['a', 'b'], () => token)
  const [a, b] = nodes
  if (a === undefined || b === undefined) return
  const recovered = (...words: readonly string[]): string => {
    const flags = ['-cluster', cluster, '-clusterUrl', etcd.urls.join(',')]
    const program = [brokerProgram, 'cluster', 'recover', ...words, ...flags]
    const { stdout, stderr, status } = spawnSync(process.execPath, program, { encoding: 'utf8' })
    return `${status} ${stdout}${stderr}`
  }
  const lose = (): string => etcd.control(['del', '--prefix', `/rigel/${cluster}/`])
  const startB = (on: string) => RunningBroker.startOn(t, on, [...nodeFlags(etcd, cluster, 'b'), ...token])

  await setLevels(a, '1')
  await levelsShown(b, '1')
  await b.endsInOrder(t)
  await setLevels(a, '2')
  t.match(recovered('-dbPath', b.folder), /^1 .*a cluster stands at .*nothing is to be recovered/)
  await a.endsInOrder(t)
  t.not(lose(), '', 'etcd has lost its data')
  await t.rejects(a.run(), /ended with 6: .*etcd holds nothing at .*rigel cluster recover/s)

  // Of b, whose replicas are shorter, with those of a.
  const copy = join(folder, 'copy-b')
  cpSync(b.folder, copy, { recursive: true })
  t.match(recovered('-dbPath', join(folder, 'nothing')), /^1 .*is no data folder of a node of cluster/)
  const output = recovered('-dbPath', copy, '--copy', a.folder)
  t.match(output, /^0 /, output)
  t.match(output, /^log 1 goes on behind record \d+, of .*data-a; .*copy-b had \d+$/m)
  const first = await startB(copy)
  await levelsShown(first, '2')
  await a.run()
  await levelsShown(a, '2')
  await setLevels(a, '3')
  await levelsShown(first, '3')
  await first.endsInOrder(t)
  await a.endsInOrder(t)

  // Of b as it was at the beginning, alone: a has what is lost then, and keeps it.
  lose()
  t.match(recovered('-dbPath', b.folder, '--copy', a.folder), /^1 .*are of different beginnings/)
  t.match(recovered('-dbPath', b.folder), /^0 /)
  await b.run()
  await levelsShown(b, '1')
  await setLevels(b, '4')
  await t.rejects(a.run(), /ended with 6: .*begun anew with another folder.*has what that did not have: record \d+/s)
  await b.endsInOrder(t)
})
