import type { Server } from 'node:https'
import type { Socket } from 'node:net'
import type { InputTurns } from './held-requests.js'

/** Takes over when handshakes begin, which Node does with each socket that it has accepted. Gives what begins one. */
export function takeHandshakes(server: Server): (socket: Socket) => void {
  const begin = server.listeners('connection')
  server.removeAllListeners('connection')
  return (socket) => {
    for (const each of begin) Reflect.apply(each, server, [socket])
  }
}

/**
 * Begins a TLS handshake when the client has sent something, and when the turn of the event loop has time for it: to sign takes more than a
 * millisecond with a key of RSA, and a thousand clients may connect at once.
 */
export function beginWhenHeard(socket: Socket, turns: Pick<InputTurns, 'begin'>, begin: () => void): void {
  socket.on('error', () => socket.destroy())
  // Whoever ends its sending half before the handshake cannot finish it. Once TLS reads the socket, this one sees no end.
  socket.once('end', () => socket.destroy())
  socket.once('readable', () => {
    turns.begin(() => {
      if (socket.readableLength === 0) socket.destroy()
      else if (!socket.destroyed) begin()
    })
  })
}
