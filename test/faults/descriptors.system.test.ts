import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { test } from 'tap'
import { RunningBroker } from '../running.js'
import { underLoad } from './run.js'

const descriptors = 160
const silent = 300

test('sockets that say nothing use up the descriptors, and no promise is broken', async (t) => {
  t.setTimeout(300_000)
  const flags = ['-partitions', '2', '-httpThreads', '2', '-notifRetryMin', '50', '-notifRetryMax', '200']
  const broker = await RunningBroker.start(t, flags, { descriptors })
  const sockets: Socket[] = []
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
  })
  await underLoad(t, broker, async () => {
    await delay(300)
    for (let at = 0; at < silent; at += 1) {
      const socket = connect(broker.port, '127.0.0.1')
      socket.on('error', () => {})
      sockets.push(socket)
    }
    await delay(1000)
    for (const socket of sockets) socket.destroy()
    await delay(500)
  })
  await broker.becomesReady()
  const late = connect(broker.port, '127.0.0.1')
  await once(late, 'connect')
  late.destroy()
  await broker.endsInOrder(t)
})
