import { test } from 'tap'
import { limitFiles, withoutFileLimits } from './file-limit.js'
import { RunningBroker } from './running.js'
import { until } from './until.js'

test('files that may not grow are answered as a full disk, and writing resumes', {
  skip: withoutFileLimits,
}, async (t) => {
  t.setTimeout(300_000)
  const broker = await RunningBroker.start(t, ['-partitions', '1'])
  const updated = async (id: string, size: number): Promise<number> => {
    const page = { name: 'page', type: 'text', value: 'x'.repeat(size) }
    const { status } = await broker.update('APPEND', { id, type: 'Book', attributes: [page] }).catch((fault) => {
      throw new Error(`${broker.output}: no response`, { cause: fault })
    })
    return status
  }
  limitFiles(broker, `${4 * 2 ** 20}`)
  for (const size of [200_000, 5000]) {
    let status = 200
    for (let n = 0; n < 500 && status === 200; n += 1) status = await updated(`Book${size}-${n}`, size)
    t.equal(status, 503)
  }
  t.equal((await broker.send('GET', '/v1/contextEntities/Book200000-0')).status, 200)
  limitFiles(broker, 'unlimited')
  let status = 503
  await until(async () => {
    status = await updated('Last', 200_000)
    return status !== 503
  }, 'it grows again')
  t.equal(status, 200)
  t.notMatch(broker.output, /"status":500/)
  await broker.endsInOrder(t)
})
