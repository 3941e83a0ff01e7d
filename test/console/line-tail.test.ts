import { t as root, test } from 'tap'
import { EventReader } from '../event-reader.js'
import { RunningBroker } from '../running.js'
import { until } from '../until.js'

const broker = await RunningBroker.shared()

async function tail(query: string): Promise<EventReader> {
  const reader = await EventReader.open(`${broker.url}/admin/log/tail?${query}`)
  root.equal(reader.status, 200)
  // The main thread is told of it after the response has begun.
  await broker.send('GET', '/admin/alarms')
  return reader
}

function update(id: string, headers: Record<string, string> = {}) {
  const contextElements = [{ id, type: 'T', isPattern: 'false', attributes: [{ name: 'a', type: 'T', value: '1' }] }]
  return broker.send('POST', '/v1/updateContext', { contextElements, updateAction: 'APPEND' }, headers)
}

async function traced(levels: string, during: () => Promise<unknown>): Promise<void> {
  await broker.send('PUT', `/log/trace/${levels}`)
  await during()
  await broker.send('DELETE', '/log/trace')
}

test('lines of all threads come as they are logged, and a filter chooses by all that it says', async (t) => {
  const of = { correlator: 'corr-7', tenant: 'acme' }
  const both = await tail(`areas=38&correlator=${of.correlator}&tenant=${of.tenant}`)
  const other = await tail('areas=http.transaction&text=contextEntities')
  await traced('38,40,100-109', async () => {
    await update('R1', { 'Fiware-Correlator': 'corr-7', 'Fiware-Service': 'acme' })
    await update('R2', { 'Fiware-Correlator': 'corr-8', 'Fiware-Service': 'acme' })
    await broker.send('GET', '/v1/contextEntities/R2', undefined, { 'Fiware-Service': 'acme' })
  })
  t.match(await both.json('line'), {
    corr: 'corr-7',
    srv: 'acme',
    area: 'http.transaction',
    t: 38,
    msg: /^begun: POST/,
  })
  t.match(await both.json('line'), { corr: 'corr-7', msg: /^done: POST/ })
  t.match(await other.json('line'), { msg: /^begun: GET .v1.contextEntities.R2/ })
  both.close()
  other.close()
})

test('a viewer gets two hundred lines in a second and is told of the others; the log has all of them', async (t) => {
  const viewer = await tail('areas=http.url&levels=DEBUG')
  const before = broker.output.split('"area":"http.url"').length
  await traced('22', async () => {
    for (let round = 0; round < 10; round += 1) {
      await Promise.all(Array.from({ length: 50 }, (_, at) => update(`S${at}`)))
    }
  })
  let lines = 0
  let skipped = 0
  const written = () => broker.output.split('"area":"http.url"').length - before
  for await (const { name, data } of viewer.all()) {
    if (name === 'line') lines += 1
    if (name === 'skipped') skipped += Object(JSON.parse(data)).lines
    if (lines + skipped >= 500) break
  }
  await until(() => written() >= 500)
  t.ok(lines >= 200, `${lines} lines`)
  t.ok(skipped > 0 || lines >= 500, `${skipped} skipped`)
  viewer.close()
})

test('what a filter cannot mean is refused, with what is known', async (t) => {
  const checkRefusal = async (query: string, text: RegExp) => {
    const { status, json } = await broker.send('GET', `/admin/log/tail?${query}`)
    t.equal(status, 400, query)
    t.match(json, { error: 'BadRequest', description: text })
  }
  await checkRefusal('levels=LOUD', /levels names LOUD: known are FATAL, ERROR, WARN, INFO, DEBUG, SUMMARY/)
  await checkRefusal('areas=1,http.url', /areas names 1: known are http.connection/)
  await checkRefusal('text=', /text is empty/)
  await checkRefusal('level=INFO', /unknown URI parameter level/)
  t.equal((await broker.send('GET', '/admin/log/tail', undefined, { Origin: 'http://evil.example' })).status, 403)
})
