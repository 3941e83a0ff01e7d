import { MessageChannel } from 'node:worker_threads'
import { test } from 'tap'
import { followRegistry, RegistryFeed } from '../../src/coordinator/registry-feed.js'
import { RegistrationIndex } from '../../src/registration/registration-index.js'
import { context, registration } from '../registration/given.js'

const first = registration(1, [context('S4', 'noise')])
const second = registration(2, [context('S5', 'noise')])

test('what is published is in force in every thread that follows', async (t) => {
  const feed = new RegistryFeed()
  const indexes = [new RegistrationIndex(), new RegistrationIndex()]
  for (const index of indexes) {
    const { port1, port2 } = new MessageChannel()
    t.teardown(() => port1.close())
    feed.add(port1)
    followRegistry(port2, index)
  }
  await Promise.all([
    feed.publish([{ kind: 'put', registration: first }]),
    feed.publish([
      { kind: 'put', registration: second },
      { kind: 'remove', id: first.id },
    ]),
  ])
  for (const index of indexes) t.same([...index.all()], [second])
})

test('what is published before a thread listens waits for it, and for no thread that has ended', async (t) => {
  const feed = new RegistryFeed()
  const [late, gone] = [new MessageChannel(), new MessageChannel()]
  t.teardown(() => late.port1.close())
  feed.add(late.port1)
  feed.add(gone.port1)
  const published = feed.publish([{ kind: 'put', registration: first }])
  gone.port2.close()
  const index = new RegistrationIndex()
  followRegistry(late.port2, index)
  await published
  t.equal(index.size, 1)
})
