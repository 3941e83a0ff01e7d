import { test } from 'tap'
import { type AlarmReport, AlarmReports, publishAlarms } from '../../src/log/alarm-reports.js'
import { Alarms } from '../../src/log/alarms.js'
import { silentLog } from '../given.js'

test('what is well is told once for each alarm that was raised, and not at all without any', async (t) => {
  const memory = AlarmReports.memory()
  const alarms = new Alarms(silentLog, false)
  const said: AlarmReport[] = []
  const take = (one: AlarmReport): void => {
    said.push(one)
    if (one.reason === undefined) alarms.release(one.alarm, one.subject)
    else alarms.raise(one.alarm, one.subject, one.reason)
    publishAlarms(memory, alarms.counts)
  }
  const [first, second] = [new AlarmReports(memory, take), new AlarmReports(memory, take)]
  first.over('BadInput', '10.0.0.1')
  t.same(said, [])
  first.occurred('BadInput', '10.0.0.1', 'JSON Parse Error')
  t.ok(second.isActive('BadInput'))
  t.notOk(second.isActive('ForwardingError'))
  second.over('BadInput', '10.0.0.2')
  second.over('BadInput', '10.0.0.2')
  t.equal(said.length, 2, 'of another subject it is told once')
  second.over('BadInput', '10.0.0.1')
  t.notOk(first.isActive('BadInput'), 'another thread may say that it is over')
  second.occurred('BadInput', '10.0.0.1', 'JSON Parse Error')
  first.over('BadInput', '10.0.0.1')
  t.match(alarms.counts, { BadInput: { active: 0, raised: 2, released: 2 } })
})
