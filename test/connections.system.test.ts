import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect, type Socket } from 'node:net'
import { test } from 'tap'
import { freePort } from '../bench/free-port.js'
import { exitCodes } from '../src/runtime/exit-codes.js'
import { brokerProgram, nodeBySh } from './program.js'
import { RunningBroker } from './running.js'
import { until } from './until.js'

/** Connections that say nothing, whatever becomes of them. */
async function silent(t: { teardown(end: () => void): void }, port: number, count: number): Promise<readonly Socket[]> {
  const sockets: Socket[] = []
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
  })
  for (let number = 0; number < count; number += 1) {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => {})
    sockets.push(socket)
    // The kernel's queue of connections that are not accepted yet is not long.
    if (number % 50 === 49 || number === count - 1) await once(socket, 'connect')
  }
  return sockets
}

/** The client's own connection may be the longest idle one, and be closed when a request is already on its way. */
async function statusOfVersion(broker: RunningBroker): Promise<number> {
  const send = () => broker.send('GET', '/version')
  const { status } = await send().catch(send)
  return status
}

test('as many silent connections as there may be lock nobody out', async (t) => {
  const broker = await RunningBroker.start(t, ['-partitions', '1', '-httpThreads', '2'])
  await silent(t, broker.port, 1100)
  for (let number = 0; number < 5; number += 1) t.equal(await statusOfVersion(broker), 200)
  // The front end that has too many may not be the one that closes the longest idle one, which takes a moment.
  await until(async () => {
    const metrics = (await broker.send('GET', '/metrics')).text
    return Number(/^rigel_http_rejected_total\{reason="evicted"\} (\d+)$/m.exec(metrics)?.[1]) > 0
  }, 'idle connections are closed')
  t.equal((await broker.update('APPEND', { id: 'E', attributes: [{ name: 'a', value: '1' }] })).status, 200)
})

test('a process with few descriptors has fewer connections, and serves on when all are taken', async (t) => {
  const flags = ['-partitions', '1', '-httpThreads', '1']
  const broker = await RunningBroker.start(t, flags, { descriptors: 128 })
  await broker.writes(/\d+ connections at a time instead of 1020 .*the process may have 128 open files/)
  await silent(t, broker.port, 300)
  for (let number = 0; number < 5; number += 1) t.equal(await statusOfVersion(broker), 200)
  t.equal((await broker.update('APPEND', { id: 'E', attributes: [{ name: 'a', value: '1' }] })).status, 200)
  await broker.endsInOrder(t)
})

test('receivers and clients that take all descriptors they can get leave the log its own', async (t) => {
  const receiver = createServer((incoming) => incoming.resume()).listen(0, '0.0.0.0')
  await once(receiver, 'listening')
  t.teardown(() => {
    receiver.closeAllConnections()
    receiver.close()
  })
  const address = receiver.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const flags = ['-partitions', '1', '-httpThreads', '1', '-initialNotificationLimit', '0']
  const broker = await RunningBroker.start(t, flags, { descriptors: 200 })
  await broker.writes(/\d+ attempts to notify instead of 256 \(-notifTotal\).*the process may have 200 open files/)
  await broker.send('POST', '/v2/entities', { id: 'E', type: 'T', a: { value: 0 } })
  for (let number = 1; number <= 200; number += 1) {
    const url = `http://127.0.1.${number}:${port}/`
    const subscription = { subject: { entities: [{ id: 'E' }] }, notification: { http: { url } } }
    t.equal((await broker.send('POST', '/v2/subscriptions', subscription)).status, 201)
  }
  await silent(t, broker.port, 300)
  for (let value = 1; value <= 100; value += 1) {
    t.equal((await broker.send('PATCH', '/v2/entities/E/attrs', { a: { value } })).status, 204)
  }
  t.notMatch(broker.output, /EMFILE/)
  await broker.end('SIGKILL')
  await broker.run()
  t.match(await broker.send('GET', '/v2/entities/E/attrs/a/value'), { status: 200, text: '100' })
  await broker.endsInOrder(t)
})

test('too few descriptors for a client and a notification are refused, with how many it takes', async (t) => {
  const { code, output } = await startWith(80, t.testdir())
  t.equal(code, exitCodes.dataFolder)
  t.match(output, /"FATAL".*the process may have 80 open files, and needs \d+ at least: raise the limit \(ulimit -n\)/)
})

test('a process that has too few descriptors to start says so', async (t) => {
  // How many Node needs for itself, and how many it inherits, differs: below that it ends with words of its own.
  for (let descriptors = 16; descriptors <= 64; descriptors += 1) {
    const started = await startWith(descriptors, t.testdir())
    if (/(Rigel cannot start|"lvl":"FATAL").*ulimit -n\)/.test(started.output)) {
      const codes: readonly unknown[] = [exitCodes.internal, exitCodes.dataFolder]
      return t.ok(codes.includes(started.code), `it ends with ${started.code}`)
    }
    t.not(started.code, 0)
  }
  return t.fail('no number of descriptors made it say so')
})

async function startWith(
  descriptors: number,
  folder: string,
): Promise<{ readonly code: unknown; readonly output: string }> {
  const started = spawn(
    'sh',
    nodeBySh([brokerProgram, '-port', `${await freePort()}`, '-dbPath', folder], `ulimit -n ${descriptors}; `),
    {
      timeout: 60_000,
    },
  )
  let output = ''
  for (const stream of [started.stdout, started.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString()
    })
  }
  const [code] = await once(started, 'close')
  return { code, output }
}

test('bodies that come in pieces of one byte take no more memory than they are long', async (t) => {
  const flags = ['-partitions', '1', '-httpThreads', '1']
  const broker = await RunningBroker.start(t, flags, { nodeOptions: ['--max-old-space-size=64'] })
  const head =
    'POST /v1/updateContext HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n'
  const piece = Buffer.from('1\r\n \r\n'.repeat(10_000))
  const sockets = await silent(t, broker.port, 3)
  for (const socket of sockets) socket.write(head)
  for (let pieces = 0; pieces < 700_000; pieces += 10_000) {
    for (const socket of sockets)
      if (!socket.write(piece)) await Promise.race([once(socket, 'drain'), once(socket, 'close')])
  }
  const responses: string[] = []
  for (const socket of sockets) {
    socket.once('data', (bytes) => responses.push(String(bytes).slice(0, 12)))
    socket.write('2\r\n{}\r\n0\r\n\r\n')
  }
  await until(() => responses.length === 3, 'each is answered')
  t.same(responses, Array(3).fill('HTTP/1.1 200'))
  await broker.becomesReady()
})
