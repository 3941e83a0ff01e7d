import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { test } from 'tap'
import { beginWhenHeard } from '../../src/http/listen.js'
import { until } from '../until.js'

test('a handshake waits for the first bytes of its client and for its turn, and has all that came until then', async (t) => {
  const turns: (() => void)[] = []
  const begun: string[] = []
  const accepted: Socket[] = []
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    accepted.push(socket)
    beginWhenHeard(socket, { begin: (work) => turns.push(work) }, () => begun.push(String(socket.read())))
  })
  t.teardown(() => server.close())
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the server has no port')
  const { port } = address
  const client = async () => {
    const socket = connect(port, '127.0.0.1').on('error', () => {})
    t.teardown(() => socket.destroy())
    await once(socket, 'connect')
    await until(() => accepted.some(({ remotePort }) => remotePort === socket.localPort))
    return socket
  }

  const silent = await client()
  const first = await client()
  first.write('hel')
  await until(() => turns.length === 1)
  first.write('lo')
  await until(() => accepted[1]?.readableLength === 5)
  t.same(begun, [], 'it is not its turn')
  turns[0]?.()
  t.same(begun, ['hello'])

  const gone = await client()
  gone.write('bye')
  await until(() => turns.length === 2)
  gone.destroy()
  accepted[2]?.destroy()
  turns[1]?.()
  t.same(begun, ['hello'], 'one whose client has gone does not begin')

  const ended = await client()
  ended.end()
  await until(() => turns.length === 3)
  turns[2]?.()
  await until(() => accepted[3]?.destroyed === true)

  const early = await client()
  early.end('half')
  await until(() => turns.length === 4 && accepted[4]?.readableLength === 4)
  turns[3]?.()
  t.same(begun, ['hello', 'half'])
  await until(() => accepted[4]?.destroyed === true)
  t.notOk(accepted[0]?.destroyed)
  t.notOk(silent.destroyed)
})
