import { setTimeout as delay } from 'node:timers/promises'
import { type Test, test } from 'tap'
import { type PeerResponder, Peers } from '../../src/broker/front-end/peers.js'

interface Questions {
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

function peer(t: Test, own: number, respond: () => string | Promise<string>, faults: unknown[] = []): Peers<Questions> {
  // The only question there is.
  const peers = new Peers<Questions>(own, 2, respond as PeerResponder<Questions>, (fault) => faults.push(fault))
  t.teardown(() => peers.close())
  return peers
}

test('a front end that ends while it makes a response does not send it, and does not fail over it', async (t) => {
  const faults = unhandled(t)
  const gatherer = peer(t, 0, () => 'a')
  let received: () => void = () => {}
  const request = new Promise<void>((resolve) => {
    received = resolve
  })
  let respond: (part: string) => void = () => {}
  const ending = peer(t, 1, () => {
    received()
    return new Promise((resolve) => {
      respond = resolve
    })
  })
  const parts = gatherer.gather('names', undefined)
  await request
  ending.close()
  respond('b')
  t.same(await parts, ['a'], 'its part is missing, like one that comes too late')
  t.same(faults, [])
})

test('a front end that fails over a question says so where it happens, and its part is missing', async (t) => {
  const faults = unhandled(t)
  const reported: unknown[] = []
  const gatherer = peer(t, 0, () => 'a')
  const fault = new Error('no figures')
  peer(t, 1, () => Promise.reject(fault), reported)
  t.same(await gatherer.gather('names', undefined), ['a'])
  t.same(reported, [fault])
  t.same(faults, [])
})

test('who asks after the end has its own part alone, at once', async (t) => {
  const faults = unhandled(t)
  const gatherer = peer(t, 0, () => 'a')
  gatherer.close()
  t.same(await Promise.race([gatherer.gather('names', undefined), delay(100, 'late')]), ['a'])
  const failing = peer(t, 0, () => Promise.reject(new Error('no figures')))
  failing.close()
  await t.rejects(failing.gather('names', undefined), /no figures/)
  t.same(faults, [])
})
