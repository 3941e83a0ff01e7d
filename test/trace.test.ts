import fc from 'fast-check'
import { test } from 'tap'
import { parseTraceLevels, traceArea, traceLevelsText } from '../src/observe/log/trace.js'
import { sourcesOf } from './sources.js'

function tracesOf(levels: readonly number[]): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, level) => Number(levels.includes(level)))
}

test('an expression names levels and ranges, in any order, overlapping, with leading zeros and spaces', async (t) => {
  t.same(parseTraceLevels('5'), { ok: true, value: [5] })
  t.same(parseTraceLevels('250,21-23,19,24,25,22'), { ok: true, value: [19, 21, 22, 23, 24, 25, 250] })
  t.same(parseTraceLevels(' 019 ,  021-0022'), { ok: true, value: [19, 21, 22] })
  t.same(parseTraceLevels('7-7'), { ok: true, value: [7] })
})

test('everything else is malformed', async (t) => {
  for (const text of [
    '',
    ' ',
    '5,,7',
    ',5',
    '5,',
    '5-',
    '-5',
    '1-2-3',
    '9-3',
    '256',
    '0-256',
    'x',
    '5;6',
    '1 - 2',
    '+5',
    '5\n',
  ])
    t.match(parseTraceLevels(text), { ok: false, error: { kind: 'malformedTraceLevels' } }, JSON.stringify(text))
})

test('the normal form is ascending, with neighbours as ranges', async (t) => {
  t.equal(traceLevelsText(tracesOf([])), '')
  t.equal(traceLevelsText(tracesOf([22, 19, 21])), '19, 21-22')
  t.equal(traceLevelsText(new Uint8Array(256).fill(1)), '0-255')
})

test('the normal form, sent back, names the same levels', async () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.integer({ min: 0, max: 255 }), { minLength: 1 }), (levels) => {
      const read = parseTraceLevels(traceLevelsText(tracesOf(levels)))
      return read.ok && read.value.join() === [...levels].sort((one, other) => one - other).join()
    }),
  )
})

test('every area has a number of its own, between 20 and 250', async (t) => {
  const numbers = Object.values(traceArea)
  t.equal(new Set(numbers).size, numbers.length)
  t.ok(numbers.every((number) => number >= 20 && number <= 250))
})

const sources = sourcesOf('src', 'workers').filter(({ path }) => path !== 'src/observe/log/trace.ts')

test('each trace area has a line', async (t) => {
  for (const area of Object.keys(traceArea)) {
    const name = area.replaceAll('.', '\\.')
    // A name with a dot stands for nothing else; of the others it has to be said that they are areas.
    const named = area.includes('.')
      ? `'${name}'`
      : `traceArea\\.${name}\\b|traceArea\\['${name}'\\]|(?:[tT]race|maybe)\\([^'\\n]*'${name}'`
    const traced = new RegExp(named)
    t.ok(
      sources.some(({ code }) => traced.test(code)),
      area,
    )
  }
})
