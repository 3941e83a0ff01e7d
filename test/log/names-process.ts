import { AlarmReports, Alarms, publishAlarms } from '../../src/observe/log/alarms.js'
import { ServiceMetrics } from '../../src/observe/measure/service-metrics.js'
import { silentLog } from '../given.js'

// Fills everything that keeps names which others choose, with as many and as long ones as a request can carry.

const number = 10_000
const length = Number(process.argv[2])
const memory = AlarmReports.memory()
const alarms = new Alarms(silentLog, { relog: false, changed: (counts) => publishAlarms(memory, counts) })
const reports = new AlarmReports(memory, ({ alarm, subject, reason }) => {
  if (reason === undefined) alarms.release(alarm, subject)
  else alarms.raise(alarm, subject, reason)
})
const metrics = new ServiceMetrics()
const request = { resource: undefined, verb: 'GET', status: 200, request_bytes: 2, response_bytes: 3, duration: 1_000n }

for (let at = 0; at < number; at += 1) {
  // As they come out of a parser: parts of a longer text, each another one.
  const text = Buffer.alloc(length + 20, 'x')
    .fill(`/name${at}`, 0, 12)
    .toString('latin1')
  const name = text.slice(0, length)
  reports.occurred('BadInput', name, 'JSON Parse Error')
  reports.over('BadInput', `well-${name}`)
  metrics.record({ ...request, service: undefined, servicePath: name })
  metrics.record({
    ...request,
    service: `s${at}`,
    servicePath: `/${'a'.repeat(40)}${'/'.repeat(length)}`.slice(0, length),
  })
}
const { raised, active } = alarms.counts.BadInput
process.stdout.write(JSON.stringify({ raised, active, services: metrics.take(false).length }))
