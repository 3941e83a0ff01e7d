import { test } from 'tap'
import { ValueHistory, valueOfWrite } from './value-history.js'

/** A history of this many writes that were all acknowledged. */
function acknowledged(writes: number): ValueHistory {
  const history = new ValueHistory('Tank1')
  for (let write = 1; write <= writes; write += 1) history.acknowledge(history.next())
  return history
}

test('a writer writes the same value again, and goes back to one', async (t) => {
  t.same([1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map(valueOfWrite), [1, 2, 2, 1, 5, 6, 7, 7, 6, 10])
})

test('a read that shows the last value is right, and one of what may have been carried out since', async (t) => {
  const history = acknowledged(4)
  const take = history.reading('node 0')
  take(1)
  history.next()
  take(5)
  t.same(history.violations, [])
})

test('an update that is lost behind the acknowledgement of one that changed nothing is found', async (t) => {
  const history = acknowledged(3)
  // An owner that has missed 2 is sent 1, changes nothing, and says that it is done.
  history.acknowledge(history.next())
  history.reading('node 1')(2)
  t.same(history.violations, ['node 1 shows Tank1 = 2, write 4 of 1 was acknowledged before'])
})

test('a read may not go back behind another one, nor show what was refused or never sent', async (t) => {
  const history = new ValueHistory('Tank1')
  history.acknowledge(history.next())
  history.next()
  history.reading('node 0')(2)
  history.reading('node 1')(1)
  t.same(history.violations, ['node 1 shows Tank1 = 1, write 2 of 2 was shown before'])
  history.refuse(history.next())
  history.acknowledge(history.next())
  history.refuse(history.next())
  history.reading('node 0')(5)
  history.reading('node 0')(6)
  t.same(history.violations.slice(1), [
    'node 0 shows Tank1 = 5, which was refused',
    'node 0 shows Tank1 = 6, which was not sent',
  ])
})

test('each change that was acknowledged is notified, in order, whatever comes twice', async (t) => {
  const history = acknowledged(5)
  history.notified.push(1, 2, 2, 1)
  t.notOk(history.isNotified)
  history.notified.push(5)
  t.ok(history.isNotified)
  t.ok(history.isInOrder)
  const disordered = acknowledged(5)
  disordered.notified.push(1, 5, 2, 1, 5)
  t.ok(disordered.isNotified)
  t.notOk(disordered.isInOrder)
})
