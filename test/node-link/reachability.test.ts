import { test } from 'tap'
import { Reachability } from '../../src/cluster/link/reachability.js'
import { silentLog } from '../given.js'
import { until } from '../until.js'
import { CuttingProxy } from './cutting-proxy.js'
import { byToken, GivenNode } from './given.js'

test('a member that does not answer is said not to be reached, until it answers again or is gone', async (t) => {
  const [b, c] = [await GivenNode.start(t, 'b'), await GivenNode.start(t, 'c')]
  const [toB, toC] = [await CuttingProxy.before(t, b), await CuttingProxy.before(t, c)]
  const reported: (readonly string[])[] = []
  const lines: string[] = []
  const note = (_op: string, line: string): void => void lines.push(line)
  const reachability = new Reachability({
    caller: { self: { cluster: 'c', node: 'a' }, security: byToken },
    log: { ...silentLog, warn: note, info: note },
    changed: (unreachable) => void reported.push(unreachable),
    interval_ms: 100,
  })
  t.teardown(() => reachability.close())
  const members = [toB.address('b'), toC.address('c')]
  reachability.put(members)
  await until(() => toB.accepted > 0 && toC.accepted > 0)

  toC.refuse(true)
  toC.cut()
  await until(() => reported.at(-1)?.join() === 'c')
  t.ok(lines.some((line) => /^node c is not reached at 127\.0\.0\.1 port \d+: ./.test(line)))
  // What is accepted and not answered is not reached either.
  toB.hold()
  await until(() => reported.at(-1)?.join() === 'b,c')
  toC.refuse(false)
  await until(() => reported.at(-1)?.join() === 'b')
  t.ok(lines.includes('node c is reached again'))
  reachability.put(members.slice(1))
  // Who is no member is nobody.
  await until(() => reported.at(-1)?.length === 0)
})
