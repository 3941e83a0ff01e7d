import { test } from 'tap'
import {
  type BatchSender,
  frontEndsMost,
  SenderTable,
  slotsMost,
} from '../../src/threads/shared-memory/sender-table.js'

const one: BatchSender = { slot: 3, frontEnd: 5, partition: 1 }

test('the last generation of a sender is the greatest that has come; each sender has its own', async (t) => {
  const table = new SenderTable(2)
  t.equal(table.enter(one, 5), undefined)
  t.equal(table.enter(one, 5), undefined)
  t.equal(table.enter(one, 4), 5)
  t.equal(table.enter(one, 1_790_000_000_000), undefined)
  t.equal(table.enter(one, 6), 1_790_000_000_000)
  for (const other of [
    { ...one, slot: 4 },
    { ...one, frontEnd: 4 },
    { ...one, partition: 0 },
  ]) {
    t.equal(table.enter(other, 1), undefined)
  }
})

test('what a generation has begun is under way until it ends; nothing of an earlier one begins', async (t) => {
  const memory = SenderTable.memory(2)
  const [here, elsewhere] = [new SenderTable(2, memory), new SenderTable(2, memory)]
  here.enter(one, 5)
  t.ok(here.isQuiet(one))
  t.ok(here.begin(one, 5))
  elsewhere.enter(one, 6)
  t.notOk(elsewhere.isQuiet(one))
  t.notOk(here.begin(one, 5), 'it is not counted')
  here.end(one)
  t.ok(elsewhere.isQuiet(one))
  t.ok(elsewhere.begin(one, 6))
})

test('the senders of all nodes have their places, and others have none', async (t) => {
  const table = new SenderTable(3)
  const last: BatchSender = { slot: slotsMost - 1, frontEnd: frontEndsMost - 1, partition: 2 }
  table.enter(last, 9)
  t.equal(table.enter(last, 8), 9)
  t.throws(() => table.enter({ ...last, slot: slotsMost }, 1), /no such sender/)
  t.throws(() => table.enter({ ...last, frontEnd: frontEndsMost }, 1), /no such sender/)
  t.throws(() => table.enter({ ...last, partition: 3 }, 1), /no such sender/)
})
