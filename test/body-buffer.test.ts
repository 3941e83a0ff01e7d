import fc from 'fast-check'
import { test } from 'tap'
import { BodyBuffer } from '../src/body-buffer.js'

test('a body is what its pieces are together, and takes the memory that was counted for it', async () => {
  const pieces = fc.array(fc.uint8Array({ maxLength: 9000 }), { maxLength: 12 })
  fc.assert(
    fc.property(pieces, fc.boolean(), (all, isAnnounced) => {
      const whole = Buffer.concat(all)
      const most = isAnnounced ? whole.length : 2 ** 20
      const buffer = new BodyBuffer(most)
      let counted = 0
      let length = 0
      for (const piece of all) {
        counted += buffer.growth_bytes(piece.length)
        buffer.add(Buffer.from(piece))
        length += piece.length
        if (counted < length || counted > Math.max(most, length)) return false
      }
      return buffer.text === whole.toString()
    }),
    { numRuns: 50 },
  )
})

test('one piece is kept as it came, and what follows leaves it as it was', async (t) => {
  const first = Buffer.from('abc')
  const buffer = new BodyBuffer()
  t.equal(buffer.growth_bytes(3), 3)
  buffer.add(first)
  buffer.add(Buffer.from('def'))
  t.equal(buffer.text, 'abcdef')
  t.equal(String(first), 'abc')
  buffer.drop()
  t.equal(buffer.text, '')
})
