import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { test } from 'tap'
import { readBody } from '../../src/http/request-reader.js'
import { HeldMemory, RequestMemory } from '../../src/threads/shared-memory/request-memory.js'

const limit = 2 ** 20

/** Reads a body in pieces of these lengths; gives its length and the bytes of memory that were held for it in the end. */
function read(pieces: readonly number[], announced: number | undefined) {
  const memory = new RequestMemory(16, RequestMemory.memory())
  const held: number[] = []
  let length: number | undefined
  const incoming = new IncomingMessage(new Socket())
  readBody(incoming, limit, announced, new HeldMemory(memory), {
    chunk: () => {},
    complete: (body) => {
      length = body?.length
    },
    tooLong: () => {},
    noRoom: () => {},
  })
  for (const piece of pieces) {
    incoming.emit('data', Buffer.alloc(piece, 'x'))
    held.push(memory.held_bytes)
  }
  incoming.emit('end')
  return { length, held }
}

test('the memory of a body is counted once, in however many pieces it comes', async (t) => {
  t.same(read([500_000], 500_000), { length: 500_000, held: [500_000] })
  t.same(read([500_000, 1], 500_001), { length: 500_001, held: [500_000, 500_001] })
  t.same(read([1, 499_999, 1], 500_001), { length: 500_001, held: [1, 500_001, 500_001] })
  const { held } = read([400_000, 200_000, 200_000, 200_000], undefined)
  t.same(held, [400_000, limit, limit, limit], 'of one of unknown length as much as it may become')
})

test('nothing is kept of a body whose request has ended', async (t) => {
  const memory = new RequestMemory(16, RequestMemory.memory())
  const incoming = new IncomingMessage(new Socket())
  const told: string[] = []
  const drop = readBody(incoming, limit, limit, new HeldMemory(memory), {
    chunk: () => told.push('chunk'),
    complete: () => told.push('complete'),
    tooLong: () => told.push('tooLong'),
    noRoom: () => told.push('noRoom'),
  })
  incoming.emit('data', Buffer.alloc(10))
  drop()
  const { held_bytes } = memory
  incoming.emit('data', Buffer.alloc(500_000))
  incoming.emit('end')
  t.equal(memory.held_bytes, held_bytes)
  t.same(told, ['chunk'])
})
