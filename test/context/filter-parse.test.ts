import fc from 'fast-check'
import { test } from 'tap'
import type { Statement } from '../../src/model/context/filter.js'
import { parseFilter } from '../../src/model/context/filter-parse.js'
import { meetings, runs } from '../runs.js'

function read(text: string): readonly Statement[] | string {
  const filter = parseFilter(text, 'attributes', 'ngsi1')
  return filter.ok ? filter.value.statements : filter.error.kind
}

function condition(text: string): unknown {
  const statements = read(text)
  return typeof statements === 'string' ? statements : statements[0]?.condition
}

test('a filter is a list of statements of which one semicolon at the end is ignored', async (t) => {
  t.same(read('grain; !smell ;'), [
    { path: ['grain'], condition: { kind: 'exists' } },
    { path: ['smell'], condition: { kind: 'absent' } },
  ])
  t.same(read('grain'), read(' grain ; '))
})

test('each operator is read, the colon as equality', async (t) => {
  t.same(condition('a==x'), { kind: 'equal', values: ['x'], negated: false })
  t.same(condition('a:x:y'), { kind: 'equal', values: ['x:y'], negated: false })
  t.same(condition('a != x'), { kind: 'equal', values: ['x'], negated: true })
  t.same(condition('a>1'), { kind: 'ordered', by: '>', than: 1 })
  t.same(condition('a>=1'), { kind: 'ordered', by: '>=', than: 1 })
  t.same(condition('a<1'), { kind: 'ordered', by: '<', than: 1 })
  t.same(condition('a<=1'), { kind: 'ordered', by: '<=', than: 1 })
  t.same(condition('a==1..2'), { kind: 'within', from: 1, to: 2, negated: false })
  t.same(condition('a!=m..p'), { kind: 'within', from: 'm', to: 'p', negated: true })
  t.same(condition('a==x, y ,z'), { kind: 'equal', values: ['x', 'y', 'z'], negated: false })
  t.same(condition('a~=^x{1,2}..$'), { kind: 'matches', pattern: '^x{1,2}..$' })
})

test('a value is a quoted text, a number, a date, true, false, null or a text, in this order', async (t) => {
  const literals: readonly (readonly [string, unknown])[] = [
    ["'64'", '64'],
    ["' a,b..c:d! '", ' a,b..c:d! '],
    ["''", ''],
    ['64', 64],
    ['-6.4e1', -64],
    ['2031-03-01T10:30Z', Date.UTC(2031, 2, 1, 10, 30) / 1000],
    ['2031-02-30', '2031-02-30'],
    ['true', true],
    ['false', false],
    ['null', null],
    ['True', 'True'],
    ['0x10', '0x10'],
  ]
  for (const [text, value] of literals) {
    t.same(condition(`a==${text}`), { kind: 'equal', values: [value], negated: false }, text)
  }
})

test('a path reaches into compounds, and quotes keep dots and colons in a name or key', async (t) => {
  const paths: readonly (readonly [string, readonly string[]])[] = [
    ['door.lock.kind', ['door', 'lock', 'kind']],
    ["'tank.1'.level", ['tank.1', 'level']],
    ["door.'urn:x.y'", ['door', 'urn:x.y']],
    ["door.''", ['door', '']],
  ]
  for (const [text, path] of paths) {
    t.same(read(`${text}==x`), [{ path, condition: { kind: 'equal', values: ['x'], negated: false } }])
    t.same(read(`!${text}`), [{ path, condition: { kind: 'absent' } }])
  }
})

test('what can not be understood is refused with its kind', async (t) => {
  const refusals: readonly (readonly [string, string])[] = [
    ['', 'filterEmpty'],
    [' ', 'filterBlank'],
    [';', 'filterEmpty'],
    [';;', 'statementEmpty'],
    ['a;;b', 'statementEmpty'],
    ['a; ;b', 'statementBlank'],
    [';a', 'statementEmpty'],
    ['a;;', 'statementEmpty'],
    ['==1', 'leftSideEmpty'],
    ["''==1", 'leftSideEmpty'],
    ['a.==1', 'leftSideEmpty'],
    ['.a', 'leftSideEmpty'],
    ['level==', 'rightSideEmpty'],
    ['level~= ', 'rightSideEmpty'],
    ['!', 'rightSideEmpty'],
    ['level==1,,2', 'listItemEmpty'],
    ['level==,', 'listItemEmpty'],
    ['level==1..', 'rangeItemEmpty'],
    ['level!=..1', 'rangeItemEmpty'],
    ['level>1..2', 'rangeOrdered'],
    ['level>1,2', 'listOrdered'],
    ["level==1..'a'", 'rangeMixed'],
    ['level==1..2031-03-01', 'rangeMixed'],
    ['level==true..true', 'rangeUnordered'],
    ['level==1..2..3', 'rangeMixed'],
    ['level==1,b', 'listMixed'],
    ["level==1,'2'", 'listMixed'],
    ['level==true,null', 'listMixed'],
    ['level==a..b,c', 'listMixed'],
    ["level=='a", 'quoteOpen'],
    ["'level==a", 'quoteOpen'],
    ["level==a,'b", 'quoteOpen'],
    ['level~=*[', 'patternMalformed'],
    ['level~=x{1000}', 'patternMalformed'],
    ['level=1', 'charactersForbidden'],
    ['level==a=b', 'charactersForbidden'],
    ['level==a>b', 'charactersForbidden'],
    ["level=='a;b'", 'charactersForbidden'],
    ["level=='a'b", 'quoteInside'],
    ["level==a'b", 'charactersForbidden'],
    ['level=="a"', 'charactersForbidden'],
    ['level~=(a)', 'charactersForbidden'],
    ["'a(b'==1", 'charactersForbidden'],
    ['a(b)', 'charactersForbidden'],
  ]
  for (const [text, kind] of refusals) t.equal(read(text), kind, text)
})

test('a malformed pattern is told', async (t) => {
  t.same(parseFilter('level~=*[', 'attributes', 'ngsi1'), {
    ok: false,
    error: { kind: 'patternMalformed', pattern: '*[' },
  })
})

test('a filter has a limit of statements and of patterns', async (t) => {
  t.equal(read('a;'.repeat(1001)), 'statementsTooMany')
  t.equal(read('a;'.repeat(1000)).length, 1000)
  t.ok(Array.isArray(read('a~=[a-z]{400};'.repeat(100))), 'the same is compiled once')
  const different = Array.from({ length: 100 }, (_, at) => `a~=[a-z]{${300 + at}}`)
  t.equal(read(different.join(';')), 'patternTooCostly')
})

test('a metadata filter names an attribute and its metadata', async (t) => {
  const filter = parseFilter('level.unit.long==raw', 'metadata', 'ngsi1')
  t.same(filter.ok && filter.value, {
    on: 'metadata',
    dialect: 'ngsi1',
    statements: [{ path: ['level', 'unit', 'long'], condition: { kind: 'equal', values: ['raw'], negated: false } }],
  })
  t.same(parseFilter('level==raw', 'metadata', 'ngsi1'), {
    ok: false,
    error: { kind: 'metadataUnnamed', unary: false },
  })
})

test('a filter is plain data', async (t) => {
  const filter = parseFilter("a;!b;c=='x',y;d!=1..2;e>=2031-03-01;f~=^x", 'attributes', 'ngsi1')
  t.same(structuredClone(filter), filter)
  t.equal(filter.ok, true)
})

test('any text is either a filter or refused, and no filter has a forbidden character in its parts', async (t) => {
  const piece = fc.constantFrom(
    'a',
    '1',
    '..',
    ',',
    ';',
    '==',
    '!=',
    '!',
    '>',
    '<',
    '=',
    '~=',
    ':',
    "'",
    '"',
    '(',
    '.',
    ' ',
  )
  const text = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(''))
  let understood = 0
  fc.assert(
    fc.property(text, (given) => {
      const filter = parseFilter(given, 'attributes', 'ngsi1')
      if (!filter.ok) return true
      understood += 1
      return filter.value.statements.every(({ path }) => path.every((step) => !/[<>"'=;()]/.test(step)))
    }),
    { numRuns: runs(2000) },
  )
  t.ok(understood > meetings(80), `${understood} understood`)
})
