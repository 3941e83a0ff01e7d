import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { test } from 'tap'
import { RunningBroker } from './running.js'
import { during, until } from './until.js'

const request = 'GET /version HTTP/1.1\r\nHost: h\r\n\r\n'
const connections = 40
const requests = 1400
/** So many are under way on a connection: a client that stands still has few responses waiting for it. */
const ahead = 200

async function open(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  await once(socket, 'connect')
  return socket
}

/** A connection that always has many requests under way, and counts the responses. */
class Flood {
  readonly socket: Socket
  responses = 0
  #sent = 0
  #tail = ''

  constructor(socket: Socket) {
    this.socket = socket
    socket.on('data', (bytes: Buffer) => {
      const text = this.#tail + bytes.toString('latin1')
      this.responses += text.split('HTTP/1.1 200 OK').length - 1
      this.#tail = text.slice(-14)
      this.send()
    })
  }

  send(): void {
    const more = Math.min(requests, this.responses + ahead) - this.#sent
    this.#sent += more
    if (more > 0) this.socket.write(request.repeat(more))
  }
}

test('beside 40 connections that pipeline 1,400 requests each another client gets many responses', async (t) => {
  const broker = await RunningBroker.start(t, ['-partitions', '1', '-httpThreads', '1'])
  const other = await open(broker.port)
  const floods: Flood[] = []
  for (let at = 0; at < connections; at += 1) floods.push(new Flood(await open(broker.port)))
  t.teardown(() => {
    other.destroy()
    for (const { socket } of floods) socket.destroy()
  })
  const all = connections * requests
  const received = () => floods.reduce((sum, { responses }) => sum + responses, 0)
  for (const flood of floods) flood.send()
  let served = 0
  // Each of them waits for the one before: as many turns of the event loop as it takes are between them.
  const receiving = until(
    () => received() >= all,
    () => `${received()} of ${all} are answered`,
    received,
  )
  await during(receiving, async () => {
    other.write(request)
    await once(other, 'data')
    served += 1
  })
  t.equal(received(), all)
  t.comment(`${served} requests of the other client`)
  // One in 640 before: every turn of the event loop began 16 requests of each connection.
  t.ok(served > all / 320, `${served}`)
})
