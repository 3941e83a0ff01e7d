import { test } from 'tap'
import { decodeSections, encodeSections, type Section } from '../../src/storage/records/sections.js'

test('sections are the same bytes whether they are joined first or, where they are long, written one by one', async (t) => {
  for (const text of ['x', 'ä😀"\n', '\ud800']) {
    const sections = (length: number): readonly Section[] => [
      { tag: 'turn', text: '1 2' },
      { tag: 'create', text: text.repeat(length) },
      { tag: 'notice', text: '' },
      { tag: 'notice', text: `${text}:n` },
    ]
    for (const length of [1, 2 ** 17]) {
      const joined = sections(length).map(
        ({ tag, text: own }) => `${{ turn: 't', create: 'c', notice: 'n' }[tag as 'turn']}${own.length}:${own}`,
      )
      t.ok(Buffer.from(joined.join('')).equals(encodeSections(sections(length))), `${length} times ${text}`)
    }
    if (text !== '\ud800') t.same(decodeSections(encodeSections(sections(2 ** 17))), sections(2 ** 17))
  }
})
