import { createServer } from 'node:http'
import { join } from 'node:path'
import { test } from 'tap'
import { backupCommand } from '../../src/data/offline/backup-command.js'
import { exportCommand } from '../../src/data/transfer/export-command.js'
import { listening } from '../far-end.js'
import { ran } from '../offline/given-command.js'

test('paths follow the path of --url, as behind a proxy with a prefix', async (t) => {
  const paths: string[] = []
  const proxy = createServer(({ url = '' }, response) => {
    paths.push(url)
    response.writeHead(404, { connection: 'close' }).end()
  })
  const port = await listening(t, proxy)
  for (const end of ['', '/', '/?x=1']) {
    const url = `http://127.0.0.1:${port}/broker${end}`
    t.match(await ran(backupCommand, [join(t.testdirName, 'backup'), '--url', url]), {
      code: 1,
      errors: /answered 404/,
    })
    t.match(await ran(exportCommand, [join(t.testdirName, 'file'), '--url', url]), { code: 1, errors: /answered 404/ })
  }
  t.equal(paths.length, 6)
  t.same([...new Set(paths.map((path) => path.split('?', 1)[0]))], ['/broker/admin/backup', '/broker/v2/entities'])
})
