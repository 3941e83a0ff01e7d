import { createServer, type RequestListener } from 'node:http'
import { type Test, test } from 'tap'
import { type Address, addressOf, Connection, Disconnected } from '../../bench/connection.js'
import { written } from '../../bench/request.js'
import { listening as listeningPort } from '../far-end.js'

const get = written({ verb: 'GET', path: '/' }, { host: 'localhost', port: 80 })

async function listening(t: Test, handler: RequestListener): Promise<Address & { readonly opened: () => number }> {
  let opened = 0
  const server = createServer(handler)
  server.on('connection', () => {
    opened += 1
  })
  return { host: '127.0.0.1', port: await listeningPort(t, server), opened: () => opened }
}

function connected(t: Test, address: Address, timeout_ms?: number): Connection {
  const connection = new Connection(address, timeout_ms)
  t.teardown(() => connection.close())
  return connection
}

test('many requests go over one connection, and large responses arrive whole', async (t) => {
  const body = 'ü'.repeat(100_000)
  const server = await listening(t, (_, response) => response.end(body))
  const connection = connected(t, server)
  for (let round = 0; round < 3; round++) t.equal((await connection.ask(get)).text, body)
  t.equal(server.opened(), 1)
})

test('a connection that the server closes between two requests is opened again', async (t) => {
  const server = await listening(t, (_, response) => response.setHeader('Connection', 'close').end('{}'))
  const connection = connected(t, server)
  for (let round = 0; round < 2; round++) t.equal((await connection.ask(get)).status, 200)
  t.equal(server.opened(), 2)
})

test('a connection that is lost before the response says so', async (t) => {
  const server = await listening(t, (request) => request.socket.destroy())
  const lost = connected(t, server).ask(get)
  await t.rejects(lost, new Disconnected('the server closed the connection', false))
})

test('a server that does not answer in time is told apart from one that is gone', async (t) => {
  const server = await listening(t, () => {})
  await t.rejects(connected(t, server, 20).ask(get), new Disconnected('no response within 20 ms', true))
})

test('an address comes from an http URL', async (t) => {
  t.same(addressOf('http://broker:1026/x'), { host: 'broker', port: 1026 })
  t.same(addressOf('http://[::1]'), { host: '::1', port: 80 })
  t.throws(() => addressOf('https://broker'), /only http/)
})
