import { test } from 'tap'
import { FrontEnds } from '../../src/runtime/front-ends.js'
import type { Route } from '../../src/storage/etcd/node-facts.js'

function front(name: string, heard: string[]) {
  return {
    route: (routes: readonly Route[]) => {
      heard.push(`${name}: ${routes.length} routes`)
    },
    useTls: () => {
      heard.push(`${name}: certificate`)
    },
    useKeys: () => {
      heard.push(`${name}: keys`)
    },
    stop: async () => {
      heard.push(`${name}: stop`)
      return 1
    },
    close: async () => {
      heard.push(`${name}: close`)
    },
  }
}

test('a front end that joins hears of the routes as they are, which may have changed while it was made', async (t) => {
  const heard: string[] = []
  const fronts = new FrontEnds()
  fronts.addRunning(front('first', heard))
  t.same(heard, [], 'nothing has changed')
  fronts.route([], [])
  fronts.addRunning(front('second', heard))
  t.same(heard, ['first: 0 routes', 'second: 0 routes'])
  fronts.useKeys([])
  fronts.useTls({ key: '', cert: '' })
  t.same(heard.slice(2), ['first: keys', 'second: keys', 'first: certificate', 'second: certificate'])
  t.equal(await fronts.stop(0), 2, 'the requests that both have given up')
  await fronts.close()
  t.same(heard.slice(6), ['first: stop', 'second: stop', 'first: close', 'second: close'])
})
