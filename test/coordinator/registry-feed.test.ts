import { test } from 'tap'
import { RegistryFeed } from '../../src/broker/coordinator/registry-feed.js'
import { RegistrationIndex } from '../../src/model/registration/registration-index.js'
import { context, registration } from '../registration/given.js'

const first = registration(1, [context('S4', 'noise')])
const second = registration(2, [context('S5', 'noise')])
const forGood = new Promise<void>(() => {})

test('what is published is in force in every thread that follows', async (t) => {
  const feed = new RegistryFeed()
  const indexes = [new RegistrationIndex(), new RegistrationIndex()]
  for (const index of indexes) feed.add(async (changes) => index.apply(changes), forGood)
  await Promise.all([
    feed.publish([{ kind: 'put', registration: first }]),
    feed.publish([
      { kind: 'put', registration: second },
      { kind: 'remove', id: first.id },
    ]),
  ])
  for (const index of indexes) t.same([...index.all()], [second])
})

test('what is published waits for each thread, and for none that has ended', async (t) => {
  const feed = new RegistryFeed()
  let [isLate, die, end] = [() => {}, (_: Error) => {}, () => {}]
  const late = new Promise<void>((resolve) => {
    isLate = resolve
  })
  const gone = new Promise<void>((_, reject) => {
    die = reject
  })
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  feed.add(() => late, forGood)
  feed.add(() => gone, ended)
  let isPublished = false
  const published = feed.publish([{ kind: 'put', registration: first }]).then(() => {
    isPublished = true
  })
  end()
  await ended
  die(new Error('the thread has ended'))
  await new Promise((resolve) => setImmediate(resolve))
  t.notOk(isPublished)
  isLate()
  await published
})

test('changes that cannot be brought to a thread that runs are not in force', async (t) => {
  const feed = new RegistryFeed()
  feed.add(() => Promise.reject(new Error('cannot be sent')), forGood)
  await t.rejects(feed.publish([{ kind: 'put', registration: first }]), { message: 'cannot be sent' })
})
