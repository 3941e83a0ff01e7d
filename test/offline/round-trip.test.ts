import { join } from 'node:path'
import { test } from 'tap'
import { RunningBroker } from '../running.js'
import { rigelProgram } from './given-command.js'

test('what a running broker backs up is sound, and another one serves it', async (t) => {
  const folder = t.testdir()
  const broker = await RunningBroker.startOn(t, join(folder, 'data'), ['-partitions', '2'])
  for (const id of ['Silo1', 'Silo2', 'Silo3']) t.equal((await broker.update('APPEND', { id })).status, 200)
  const backup = join(folder, 'backup')
  t.match(await rigelProgram(['backup', backup, '--url', broker.url]), { code: 0, errors: '' })
  const restored = join(folder, 'restored')
  t.match(await rigelProgram(['restore', backup, '-dbPath', restored]), { code: 0 })
  t.match(await rigelProgram(['check', '-dbPath', restored]), { code: 0, output: /sound: 3 entities in 2 partitions/ })
  const other = await RunningBroker.startOn(t, restored)
  t.match((await other.send('GET', '/v2/entities')).json, [{ id: 'Silo1' }, { id: 'Silo2' }, { id: 'Silo3' }])
})
