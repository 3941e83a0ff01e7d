import { test } from 'tap'
import type { FencingToken } from '../../src/threads/shared-memory/partition-position.js'
import { levelOf, partition } from '../node-link/given.js'

test('what is bound to another election, or to before a refusal, is refused; what is bound to nothing is carried out', async (t) => {
  const { mailbox, position, ownership, store } = partition(t)
  const reply = async (until_ms?: number, fencingToken?: FencingToken) => {
    t.equal(mailbox.reserve(1), undefined)
    const posted = await mailbox.put(levelOf('A', '1'), until_ms, fencingToken)
    return posted.ok && posted.value.reply.kind === 'failed' ? posted.value.reply.why : posted.ok
  }
  const never = Number.POSITIVE_INFINITY
  const first = position.fencingToken
  t.equal(await reply(never, first), true)
  position.own(2)
  t.equal(await reply(never, first), 'notOwner', 'the node was elected anew')
  const second = position.fencingToken
  t.equal(await reply(never, second), true)
  ownership.isOwner = false
  t.equal(await reply(never, second), 'notOwner')
  ownership.isOwner = true
  t.equal(await reply(never, second), 'notOwner', 'it stands behind what was refused')
  t.equal(await reply(never, position.fencingToken), true)
  t.equal(await reply(), true)
  t.equal(store.entityCount, 1)
})

test('commands of several fencing tokens that come together are each taken, or refused, by their own', async (t) => {
  const { mailbox, position } = partition(t)
  const old = position.fencingToken
  position.own(2)
  t.equal(mailbox.reserve(4), undefined)
  const put = (name: string, fencingToken: typeof old) =>
    mailbox.put(levelOf(name, '1'), Number.POSITIVE_INFINITY, fencingToken)
  const posted = await Promise.all([
    put('A', old),
    put('B', position.fencingToken),
    put('C', position.fencingToken),
    put('D', old),
  ])
  t.same(
    posted.map((each) => each.ok && each.value.reply.kind),
    ['failed', 'updated', 'updated', 'failed'],
  )
})
