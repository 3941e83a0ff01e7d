import { setTimeout as delay } from 'node:timers/promises'
import { type Test, test } from 'tap'
import { type PeerResponder, Peers } from '../../src/broker/services/peers.js'

interface Asking {
  readonly names: { readonly request: undefined; readonly part: string }
}

/** Whatever is not handled ends a thread. */
function unhandled(t: Test): unknown[] {
  const faults: unknown[] = []
  const note = (fault: unknown): void => void faults.push(fault)
  process.on('unhandledRejection', note)
  t.teardown(() => process.off('unhandledRejection', note))
  return faults
}

function peer(t: Test, own: number, respond: () => string | Promise<string>, faults: unknown[] = []): Peers<Asking> {
  // The only question there is.
  const peers = new Peers<Asking>(own, 2, respond as PeerResponder<Asking>, (fault) => faults.push(fault))
  t.teardown(() => peers.close())
  return peers
}

test('a front end that ends while it makes an answer does not send it, and does not fail over it', async (t) => {
  const faults = unhandled(t)
  const asks = peer(t, 0, () => 'a')
  let isAsked: () => void = () => {}
  const requests = new Promise<void>((resolve) => {
    isAsked = resolve
  })
  let respond: (part: string) => void = () => {}
  const ending = peer(t, 1, () => {
    isAsked()
    return new Promise((resolve) => {
      respond = resolve
    })
  })
  const parts = asks.gather('names', undefined)
  await requests
  ending.close()
  respond('b')
  t.same(await parts, ['a'], 'its part is missing, like one that comes too late')
  t.same(faults, [])
})

test('a front end that fails over a question says so where it happens, and its part is missing', async (t) => {
  const faults = unhandled(t)
  const told: unknown[] = []
  const asks = peer(t, 0, () => 'a')
  const fault = new Error('no figures')
  peer(t, 1, () => Promise.reject(fault), told)
  t.same(await asks.gather('names', undefined), ['a'])
  t.same(told, [fault])
  t.same(faults, [])
})

test('who asks after the end has its own part alone, at once', async (t) => {
  const faults = unhandled(t)
  const asks = peer(t, 0, () => 'a')
  asks.close()
  t.same(await Promise.race([asks.gather('names', undefined), delay(100, 'late')]), ['a'])
  const failing = peer(t, 0, () => Promise.reject(new Error('no figures')))
  failing.close()
  await t.rejects(failing.gather('names', undefined), /no figures/)
  t.same(faults, [])
})
