import { writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { test } from 'tap'
import { exportCommand } from '../../src/data/transfer/export-command.js'
import { importCommand } from '../../src/data/transfer/import-command.js'
import { listening } from '../far-end.js'
import { ran } from '../offline/given-command.js'
import { RunningBroker } from '../running.js'
import { exportOf, linesIn, textOf } from './given-command.js'
import { fill } from './given-data.js'

/** The lines of an export without what one broker does not take from another. */
function comparable(file: string): readonly unknown[] {
  return linesIn(textOf(file)).map(({ id, created: _, modified: __, ...line }) => {
    const attributes = Array.isArray(line['attributes']) ? line['attributes'] : []
    const own = attributes.map((attribute) =>
      typeof attribute === 'string' ? attribute : { ...attribute, created: 0, modified: 0 },
    )
    return {
      ...line,
      id: line['kind'] === 'entity' ? id : '',
      attributes: own,
      terms: { ...Object(line['terms']), armed: 0, notification: withoutUser(Object(line['terms']).notification) },
    }
  })
}

/** Who logs in to a broker of MQTT is not imported where the password is not shown. */
function withoutUser(notification: unknown): object {
  const { target } = Object(notification)
  return { ...Object(notification), target: { ...target, user: undefined } }
}

test('what a broker shows is exported, and imported into another one', async (t) => {
  const folder = t.testdir()
  const [from, to] = await RunningBroker.startAll(t, 2, ['-multiservice', '-partitions', '2'])
  if (from === undefined || to === undefined) throw new Error('there are two')
  await fill(from.url)
  const [all, trees, copy, treesCopy] = ['all', 'trees', 'copy', 'trees-copy'].map((name) => join(folder, name))
  if (all === undefined || trees === undefined || copy === undefined || treesCopy === undefined)
    throw new Error('there are four')
  const exported = await ran(exportCommand, [all, '--url', from.url])
  t.match(exported, {
    code: 0,
    errors: /exported: 3 entities, 3 subscriptions, 2 registrations\n.*its password of MQTT is not shown/s,
  })
  t.match(await ran(exportCommand, [trees, '--url', from.url, '--tenant', 'trees', '--path', '/parks/#']), { code: 0 })

  const imported = await ran(importCommand, [all, '--url', to.url, '--keep-going'])
  t.match(imported.errors, 'created: 3 entities, 3 subscriptions, 2 registrations')
  t.notMatch(textOf(all), /passwd/, 'what hides a password is none')
  t.equal(imported.code, 3)
  t.match(imported.errors, /imported without the user me of MQTT, whose password the export does not have\n/)
  t.match(imported.errors, /ids of subscriptions and registrations/)
  t.match(await ran(importCommand, [trees, '--url', to.url]), {
    code: 0,
    errors: 'created: 1 entity, 1 subscription',
  })
  await ran(exportCommand, [copy, '--url', to.url])
  await ran(exportCommand, [treesCopy, '--url', to.url, '--tenant', 'trees', '--path', '/parks/#'])
  t.same(comparable(copy), comparable(all))
  t.same(comparable(treesCopy), comparable(trees))

  t.match(await ran(importCommand, [all, '--url', to.url, '--on-conflict', 'skip', '--dry-run']), {
    code: 3,
    errors: 'would be skipped, since they exist: 3 entities',
  })
  t.match(await ran(importCommand, [trees, '--url', to.url]), {
    code: 1,
    errors: /entity Oak of type Tree in \/parks\/north of tenant trees: left out as a whole: it is there already/,
  })

  await t.test('instances go through NGSIv1, and what the other broker refuses is listed alone', async (t) => {
    const entity = (id: string, attributes: readonly object[]) => ({
      kind: 'entity',
      servicePath: '/v1',
      id,
      type: 'T',
      attributes,
    })
    const level = { name: 'level', type: 'cm', value: '3' }
    const given = join(folder, 'instances')
    writeFileSync(
      given,
      exportOf([
        entity('A', [
          { ...level, instance: 'x' },
          { ...level, instance: 'y', value: 4 },
          { name: 'n', type: 'Number', value: 1 },
        ]),
        entity('B', [{ name: 'd', type: 'DateTime', value: 'no date' }]),
        entity('C', [level]),
      ]),
    )
    const { code, errors } = await ran(importCommand, [given, '--url', to.url, '--keep-going'])
    t.equal(code, 3)
    t.match(errors, 'created: 2 entities')
    t.match(errors, /entity A .*: imported with a change: the value of attribute level is a text/)
    t.match(errors, /entity B .*: the broker answered 400 .*date/)
    await to.end('SIGTERM')
    await ran(exportCommand, [given, '-dbPath', to.folder, '--path', '/v1'])
    const a = linesIn(textOf(given)).find(({ id }) => id === 'A')
    t.match(a, {
      attributes: [
        { instance: 'x', value: '3' },
        { instance: 'y', value: '4' },
        { name: 'n', value: 1 },
      ],
    })
  })
})

test('a broker without room is asked again; one that cannot be reached is said', async (t) => {
  const folder = t.testdir()
  const requests: IncomingMessage[] = []
  const server = createServer((request, response) => {
    requests.push(request)
    request.resume()
    if (requests.length < 3) response.writeHead(503, { 'retry-after': '0.01' }).end()
    else
      response
        .writeHead(request.url?.includes('query') ? 200 : 204)
        .end(request.url?.includes('query') ? '[]' : undefined)
  })
  const url = `http://127.0.0.1:${await listening(t, server)}`
  const file = join(folder, 'one')
  writeFileSync(file, exportOf([{ kind: 'entity', tenant: 'x', id: 'A', type: 'T' }]))
  t.match(await ran(importCommand, [file, '--url', url, '--token', 'secret']), {
    code: 0,
    errors: 'created: 1 entity',
  })
  t.equal(requests.length, 4)
  t.match(requests[3]?.headers, { 'fiware-service': 'x', 'fiware-servicepath': '/', 'x-auth-token': 'secret' })
  server.close()
  server.closeAllConnections()
  t.match(await ran(importCommand, [file, '--url', url]), {
    code: 1,
    errors: /cannot be reached: connect ECONNREFUSED/,
  })
  t.match(await ran(exportCommand, [file, '--url', 'nowhere']), { code: 2, errors: /--url: 'nowhere' is no URL/ })
})
