import { test } from 'tap'
import type { CoordinatorRequest } from '../../src/broker/front-end/coordinator-requests.js'
import { err, ok } from '../../src/result.js'
import { CuttingProxy } from './cutting-proxy.js'
import { GivenNode, linkTo } from './given.js'

const removal: CoordinatorRequest = { service: 'subscriptions', operation: 'unsubscribe', given: ['tenant', 'id'] }

const noHeartbeats = { heartbeat: async () => undefined }

test('another node carries out a change if it coordinates, and what its service answers comes back', async (t) => {
  const node = await GivenNode.start(t)
  const taken: CoordinatorRequest[] = []
  let response: unknown = ok(undefined)
  node.services = {
    coordinator: {
      ...noHeartbeats,
      take: async (request) => {
        taken.push(request)
        return ok(response)
      },
    },
  }
  const link = linkTo(t, [node.address])
  t.same(await link.change('b', removal), { kind: 'answered', response: { ok: true, value: undefined } })
  t.same(taken, [removal])
  response = err({ kind: 'subscriptionUnknown' })
  t.same(await link.change('b', removal), { kind: 'answered', response })
  response = ok('5f0a1b2c3d4e5f6071829304')
  t.same(await link.change('b', removal), { kind: 'answered', response })
  t.same(await link.change('c', removal), { kind: 'unsent' }, 'of a node that is no member')
})

test('who does not coordinate does nothing, and neither does anybody with what is no change', async (t) => {
  const node = await GivenNode.start(t)
  const link = linkTo(t, [node.address])
  t.same(await link.change('b', removal), { kind: 'notCoordinator' })
  node.services = { coordinator: { ...noHeartbeats, take: async () => ok(ok(undefined)) } }
  const others = [
    { ...removal, service: 'backups' },
    { ...removal, operation: 'states' },
    { ...removal, operation: 'constructor' },
    { ...removal, given: 'id' },
    {},
  ]
  for (const other of others) {
    t.same(await link.change('b', other as CoordinatorRequest), { kind: 'unsent' }, JSON.stringify(other))
  }
  t.match(node.lines, [], 'a request that is understood by its head is not taken for an unknown one')
})

test('what a broken connection has left unanswered may be carried out; the next change has a new one', async (t) => {
  const node = await GivenNode.start(t)
  const proxy = await CuttingProxy.before(t, node)
  const link = linkTo(t, [proxy.address('b')])
  let arrived = (): void => {}
  const arrives = new Promise<void>((resolve) => {
    arrived = resolve
  })
  node.services = {
    coordinator: {
      ...noHeartbeats,
      take: () => {
        arrived()
        return new Promise(() => {})
      },
    },
  }
  const lost = link.change('b', removal)
  await arrives
  proxy.cut()
  t.same(await lost, { kind: 'outcomeUnknown' })
  node.services = { coordinator: { ...noHeartbeats, take: async () => ok(ok(undefined)) } }
  t.match(await link.change('b', removal), { kind: 'answered' })
})

test('another node says how far its partitions were when they wrote a heartbeat record, or that it is not so far', async (t) => {
  const node = await GivenNode.start(t)
  const requests: number[] = []
  node.services = {
    coordinator: {
      take: async () => err({ kind: 'notCoordinator', owner: undefined }),
      heartbeat: async (metadataVersion) => {
        requests.push(metadataVersion)
        return metadataVersion === 7 ? [[1, 30]] : undefined
      },
    },
  }
  const link = linkTo(t, [node.address])
  t.same(await link.heartbeat('b', 7), [[1, 30]])
  t.equal(await link.heartbeat('b', 8), undefined)
  t.equal(await link.heartbeat('c', 7), undefined)
  t.equal(await link.heartbeat('b', -1), undefined)
  t.same(requests, [7, 8])
})
