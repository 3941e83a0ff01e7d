import { test } from 'tap'
import type { Tenure } from '../../src/threads/shared-memory/partition-position.js'
import { levelOf, partition } from '../node-link/given.js'

test('what is bound to another election, or to before a refusal, is refused; what is bound to nothing is carried out', async (t) => {
  const { mailbox, position, ownership, store } = partition(t)
  const reply = async (until_ms?: number, tenure?: Tenure) => {
    t.equal(mailbox.reserve(1), undefined)
    const posted = await mailbox.put(levelOf('A', '1'), until_ms, tenure)
    return posted.ok && posted.value.reply.kind === 'failed' ? posted.value.reply.why : posted.ok
  }
  const never = Number.POSITIVE_INFINITY
  const first = position.tenure
  t.equal(await reply(never, first), true)
  position.own(2)
  t.equal(await reply(never, first), 'notOwner', 'the node was elected anew')
  const second = position.tenure
  t.equal(await reply(never, second), true)
  ownership.isOwner = false
  t.equal(await reply(never, second), 'notOwner')
  ownership.isOwner = true
  t.equal(await reply(never, second), 'notOwner', 'it stands behind what was refused')
  t.equal(await reply(never, position.tenure), true)
  t.equal(await reply(), true)
  t.equal(store.entityCount, 1)
})

test('commands of several tenures that come together are each taken, or refused, by their own', async (t) => {
  const { mailbox, position } = partition(t)
  const old = position.tenure
  position.own(2)
  t.equal(mailbox.reserve(4), undefined)
  const put = (name: string, tenure: typeof old) => mailbox.put(levelOf(name, '1'), Number.POSITIVE_INFINITY, tenure)
  const posted = await Promise.all([put('A', old), put('B', position.tenure), put('C', position.tenure), put('D', old)])
  t.same(
    posted.map((each) => each.ok && each.value.reply.kind),
    ['failed', 'updated', 'updated', 'failed'],
  )
})
