import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'tap'
import { exportCommand } from '../../src/data/transfer/export-command.js'
import { ran, rigel } from '../offline/given-command.js'
import { until } from '../until.js'
import { EtcdMembers, noEtcd } from './etcd-members.js'
import { givenNodes, levelsShown, setLevels, tokenFlags } from './given-nodes.js'

const rounds = 5

/** The lines of an export of what a backup holds. */
async function linesOf(backup: string, restored: string): Promise<readonly string[]> {
  const put = await rigel('restore', backup, '-dbPath', restored)
  if (put.code !== 0) throw new Error(put.errors)
  const file = `${restored}.jsonl`
  const exported = await ran(exportCommand, [file, '-dbPath', restored])
  if (exported.code !== 0) throw new Error(exported.errors)
  return readFileSync(file, 'utf8').split('\n')
}

test('a backup of any node has everything that any node had acknowledged before', { skip: noEtcd }, async (t) => {
  const folder = t.testdir({ etcd: {} })
  const etcd = await EtcdMembers.start(t, 1)
  const { nodes } = await givenNodes(t, etcd, ['a', 'b'], () => tokenFlags(folder))
  const [a, b] = nodes
  if (a === undefined || b === undefined) return
  await setLevels(a, 'first')
  await levelsShown(b, 'first')
  for (let round = 1; round <= rounds; round += 1) {
    // Both ways, since one node coordinates and each may own a partition.
    const [to, other] = round % 2 === 0 ? [a, b] : [b, a]
    const subscription = {
      subject: { entities: [{ idPattern: `Round${round}` }] },
      notification: { http: { url: 'http://127.0.0.1:9/nobody' } },
    }
    const isSubscribed = async () => (await to.send('POST', '/v2/subscriptions', subscription)).status === 201
    await until(isSubscribed, 'a subscription is made')
    await setLevels(to, `round ${round}`)
    const backup = join(folder, `backup-${round}`)
    // One whose owners do not confirm in time is refused.
    await until(async () => (await rigel('backup', backup, '--url', other.url)).code === 0, 'a backup is made')
    const lines = await linesOf(backup, join(folder, `restored-${round}`))
    const shown = lines.filter((line) => line.includes(`"round ${round}"`))
    t.equal(shown.length, 8, `round ${round}: the last value of each entity`)
    t.ok(
      lines.some((line) => line.includes(`Round${round}"`)),
      `round ${round}: the last subscription`,
    )
  }
  etcd.signal(0, 'SIGSTOP')
  await until(async () => (await b.send('GET', '/v2/entities/Tank0')).status === 503, 'nobody confirms reads')
  let output = ''
  const isRefused = async () => {
    const backup = await rigel('backup', join(folder, 'unconfirmed'), '--url', b.url)
    output = `${backup.code}: ${backup.errors}`
    return /^1: .*answered 503 .*the owner of a partition did not confirm in time/s.test(output)
  }
  await until(isRefused, () => `a backup is refused: ${output}`)
  etcd.signal(0, 'SIGCONT')
  await until(
    async () => (await rigel('backup', join(folder, 'confirmed'), '--url', b.url)).code === 0,
    'a backup is made again',
  )
  for (const node of [b, a]) await node.endsInOrder(t)
})
