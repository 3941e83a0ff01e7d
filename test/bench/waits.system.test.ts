import { test } from 'tap'
import { member } from '../../bench/ngsi.js'
import { columns, linesFrom, own } from './programs.js'

test('waits has the three waits and the rate without the flag for each number of connections', {
  skip: own.skip,
}, async (t) => {
  const lines = await linesFrom(t, 'waits')
  t.same(columns(lines, 'connections'), [[1], [4]])
  for (const line of lines) {
    t.match(line, {
      requestSemaphoreWaitingTime_s: /^\d+\.\d{9}$/,
      dbConnectionPoolWaitingTime_s: /^\d+\.\d{9}$/,
      transactionSemaphoreWaitingTime_s: /^\d+\.\d{9}$/,
    })
    t.ok(Number(member(line, 'ratio')) > 0)
    const [sum_s, requests, mean_us] = [
      'transactionSemaphoreWaitingTime_s',
      'requests',
      'transactionSemaphore_mean_us',
    ].map((name) => Number(member(line, name)))
    t.ok(
      Math.abs((Number(sum_s) / Number(requests)) * 1e6 - Number(mean_us)) < 0.001,
      'the mean is that of all requests',
    )
  }
})
