import { test } from 'tap'
import { type AlarmReport, AlarmReports, Alarms, publishAlarms } from '../../src/observe/log/alarms.js'
import { silentLog } from '../given.js'

test('what is well is told once for each alarm that was raised, and not at all without any', async (t) => {
  const memory = AlarmReports.memory()
  const alarms = new Alarms(silentLog, { relog: false, changed: (counts) => publishAlarms(memory, counts) })
  const reports: AlarmReport[] = []
  const take = (one: AlarmReport): void => {
    reports.push(one)
    if (one.reason === undefined) alarms.release(one.alarm, one.subject)
    else alarms.raise(one.alarm, one.subject, one.reason)
  }
  const [first, second] = [new AlarmReports(memory, take), new AlarmReports(memory, take)]
  first.over('MqttConnectionError', '10.0.0.1')
  t.same(reports, [])
  first.occurred('MqttConnectionError', '10.0.0.1', 'refused')
  t.ok(second.isActive('MqttConnectionError'))
  t.notOk(second.isActive('ForwardingError'))
  second.over('MqttConnectionError', '10.0.0.2')
  second.over('MqttConnectionError', '10.0.0.2')
  t.equal(reports.length, 2, 'of another subject it is told once')
  second.over('MqttConnectionError', '10.0.0.1')
  t.notOk(first.isActive('MqttConnectionError'), 'another thread may say that it is over')
  second.occurred('MqttConnectionError', '10.0.0.1', 'refused')
  first.over('MqttConnectionError', '10.0.0.1')
  t.match(alarms.counts, { MqttConnectionError: { active: 0, raised: 2, released: 2 } })
})

test('what was said to be well is told again when it has come back while its release was held', async (t) => {
  const memory = AlarmReports.memory()
  const alarms = new Alarms(silentLog, { relog: false, changed: (counts) => publishAlarms(memory, counts) })
  let reports = 0
  const take = ({ alarm, subject, reason }: AlarmReport): void => {
    reports += 1
    if (reason === undefined) alarms.release(alarm, subject)
    else alarms.raise(alarm, subject, reason)
  }
  const [first, second] = [new AlarmReports(memory, take), new AlarmReports(memory, take)]
  first.occurred('BadInput', '10.0.0.1', 'JSON Parse Error')
  first.over('BadInput', '10.0.0.1')
  first.over('BadInput', '10.0.0.1')
  t.equal(reports, 2, 'once while it is held')
  second.occurred('BadInput', '10.0.0.1', 'JSON Parse Error')
  first.over('BadInput', '10.0.0.1')
  t.equal(reports, 4, 'whoever has seen it come back')
})
