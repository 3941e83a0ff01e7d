import { test } from 'tap'
import { type FileBytes, PieceReader } from '../../src/storage/wal/file-bytes.js'
import {
  canBeTorn,
  frameAt,
  frameIn,
  frameSize,
  framesFrom,
  head_bytes,
  torn_bytes,
  writeFrame,
} from '../../src/storage/wal/frame.js'
import { nth } from './given.js'

/** The bytes of a frame, with zeros around them that belong to nothing. */
function framed(text: string, sequence = 5, previous = 0x01020304): Buffer {
  const payload = Buffer.from(text)
  const bytes = Buffer.alloc(frameSize(payload.length) + head_bytes)
  writeFrame(bytes, { sequence: nth(sequence), previous, flushed: nth(sequence - 2), file_bytes: 9000, payload })
  return bytes
}

/** A file that is in memory. */
function bytesIn(memory: Buffer): FileBytes {
  return { length: memory.length, from: (offset) => memory.subarray(offset) }
}

test('the bytes of a frame are the format on disk and never change', async (t) => {
  const bytes = framed('level')
  const head = '5249474c050000007ba0689604030201050000000000010002000000020000006c6576656c000000'
  t.equal(bytes.subarray(0, frameSize(5)).toString('hex'), head)
  t.same(frameAt(bytes, 0), {
    sequence: 5,
    crc: 0x9668a07b,
    previous: 0x01020304,
    flushed: 3,
    file_bytes: 8192,
    payload: Buffer.from('level'),
    size_bytes: 40,
  })
})

test('sequences have 48 bits', async (t) => {
  t.equal(frameAt(framed('', 2 ** 48 - 1), 0)?.sequence, 2 ** 48 - 1)
})

test('frames take whole words', async (t) => {
  t.same([0, 1, 8, 9].map(frameSize), [32, 40, 40, 48])
})

test('a frame of which any bit has changed is none', async (t) => {
  const sound = framed('level')
  for (let bit = 0; bit < (head_bytes + 5) * 8; bit += 1) {
    const bytes = Buffer.from(sound)
    bytes.writeUInt8(bytes.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3)
    t.equal(frameAt(bytes, 0), undefined, `bit ${bit}`)
  }
})

test('a frame that is cut anywhere is none', async (t) => {
  const bytes = framed('level')
  for (let length = 0; length < head_bytes + 5; length += 1) t.equal(frameAt(bytes.subarray(0, length), 0), undefined)
  t.ok(frameAt(bytes.subarray(0, head_bytes + 5), 0))
})

test('frames are found wherever a word begins, and nowhere else', async (t) => {
  const bytes = Buffer.concat([
    Buffer.alloc(24, 'RIGL'),
    framed('one', 1),
    framed('two', 2),
    Buffer.alloc(3),
    framed('odd', 3),
  ])
  t.same(
    Array.from(framesFrom(bytesIn(bytes), 0, nth(0)), ({ offset, frame }) => [offset, frame.payload.toString()]),
    [
      [24, 'one'],
      [24 + 40 + 32, 'two'],
    ],
  )
  t.same(
    Array.from(framesFrom(bytesIn(bytes), 0, nth(1)), ({ offset }) => offset),
    [24 + 40 + 32],
  )
})

test('a file is read in pieces of any size, and frames are found in it as if it were in memory', async (t) => {
  const torn = framed('torn'.repeat(20), 9).subarray(0, 64)
  const file = Buffer.concat([
    ...Array.from({ length: 20 }, (_, n) => framed('x'.repeat(n * 7), n + 1)),
    Buffer.alloc(4, 'RIGL'),
    Buffer.alloc(100),
    torn,
  ])
  const found = (bytes: FileBytes) =>
    Array.from(framesFrom(bytes, 0, nth(3)), ({ offset, frame }) => [offset, frame.sequence, frame.payload.toString()])
  const all = found(bytesIn(file))
  t.equal(all.length, 17)
  for (const piece_bytes of [8, 24, 33, 64, 100, 1000, file.length, 10 * file.length]) {
    let most = 0
    const bytes = new PieceReader(file.length, piece_bytes, (offset, into) => {
      most = Math.max(most, into.length)
      return file.subarray(offset).copy(into)
    })
    t.same(found(bytes), all, `pieces of ${piece_bytes} bytes`)
    for (const offset of [0, 32, 1, file.length - 64, file.length, file.length + 1]) {
      t.same(frameIn(bytes, offset), frameAt(file, offset), `a frame at ${offset}`)
      t.equal(torn_bytes(bytes, offset), torn_bytes(bytesIn(file), offset), `a torn frame at ${offset}`)
    }
    t.ok(most <= Math.max(piece_bytes, frameSize(19 * 7)), 'no more is in memory than a piece or a frame')
  }
})

test('a file that becomes shorter while it is read is told, instead of being searched for ever', async (t) => {
  const bytes = new PieceReader(4096, 64, () => 0)
  t.throws(() => bytes.from(0, 1), /shorter/)
  t.throws(() => Array.from(framesFrom(bytes, 0, nth(0))), /shorter/)
  t.equal(bytes.from(4096, 1).length, 0, 'at its end nothing is expected')
})

test('a frame that was begun is as long as its head says, or up to where nothing stands', async (t) => {
  const whole = framed('x'.repeat(100))
  t.equal(torn_bytes(bytesIn(Buffer.alloc(64)), 0), 0)
  t.equal(torn_bytes(bytesIn(Buffer.alloc(0)), 0), 0)
  t.equal(torn_bytes(bytesIn(whole.fill(0, 60, 80)), 0), frameSize(100))
  t.equal(torn_bytes(bytesIn(whole.fill(0, 0, 4)), 0), 136)
  t.equal(torn_bytes(bytesIn(whole.subarray(0, 50)), 0), 50)
})

test('a part of the frame that opens a segment, or of its first record, is no damage at its beginning', async (t) => {
  const before = { sequence: nth(25), crc: 7 }
  const segmentWith = (frame: Buffer, part: number): FileBytes => {
    const bytes = Buffer.alloc(1024)
    // What a refused record left.
    bytes.fill('x', head_bytes, 300)
    frame.copy(bytes, 0, 0, part)
    return bytesIn(bytes)
  }
  for (let part = 0; part <= head_bytes; part += 1) {
    t.ok(canBeTorn(segmentWith(framed('', 25, 7), part), 0, before, true), `${part} bytes of the opening`)
    t.ok(canBeTorn(segmentWith(framed('first', 26, 7), part), 0, before, true), `${part} bytes of the first record`)
  }
  t.notOk(canBeTorn(segmentWith(framed('other', 27, 7), head_bytes), 0, before, true))
  t.notOk(canBeTorn(segmentWith(framed('', 25, 8), head_bytes), 0, before, true))
  const within = Buffer.concat([Buffer.alloc(64), framed('', 25, 7), Buffer.alloc(64)])
  t.notOk(canBeTorn(bytesIn(within), 64, before, true), 'no segment begins there')
})
