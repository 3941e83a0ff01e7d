import fc from 'fast-check'
import { test } from 'tap'
import { compareBytes, type Entity } from '../../src/model/context/entity.js'
import { compileFilter, type Dialect, type FilterSide } from '../../src/model/context/filter.js'
import { parseFilter } from '../../src/model/context/filter-parse.js'
import { unbounded } from '../../src/model/context/step-budget.js'
import type { Milliseconds } from '../../src/time.js'
import { attribute, entity, holding } from './given-entity.js'

function meets(
  held: Entity,
  text: string,
  on: FilterSide = 'attributes',
  dialect: Dialect = 'ngsi1',
): boolean | string {
  const filter = parseFilter(text, on, dialect)
  return filter.ok ? compileFilter(filter.value, unbounded())(held) : filter.error.kind
}

const silo = holding({ grain: 'rye', level: '64', heat: 21.5, open: true, note: null, 'tank.1': { level: 'low' } })

/** Which of the filters the entity meets. */
function met(held: Entity, filters: readonly string[], on: FilterSide = 'attributes'): readonly string[] {
  return filters.filter((text) => meets(held, text, on) === true)
}

test('a name asks for existence, with an exclamation mark for absence', async (t) => {
  t.same(met(silo, ['grain', 'smell', '!grain', '!smell', 'note', '!note']), ['grain', '!smell', 'note'])
})

test('all statements must hold', async (t) => {
  t.same(met(silo, ['grain==rye;open', 'grain==rye;smell', 'smell;grain==rye']), ['grain==rye;open'])
})

test('equality minds the kind: a quoted number is a text', async (t) => {
  t.same(met(silo, ['grain==rye', 'grain:rye', 'grain==oats', 'grain==Rye']), ['grain==rye', 'grain:rye'])
  t.same(met(silo, ['level==64', "level=='64'", 'heat==21.5', "heat=='21.5'"]), ["level=='64'", 'heat==21.5'])
  t.same(met(silo, ['open==true', "open=='true'", 'note==null', "note=='null'"]), ['open==true', 'note==null'])
})

test('inequality holds for what exists and is not equal, whatever its kind', async (t) => {
  t.same(met(silo, ['grain!=oats', 'grain!=rye', 'smell!=rye', 'level!=64', "level!='64'"]), [
    'grain!=oats',
    'level!=64',
  ])
  t.same(met(silo, ['note!=null', 'open!=null', 'tank!=x']), ['open!=null'])
})

test('texts compare byte by byte, numbers as numbers, and kinds not with each other', async (t) => {
  t.same(met(silo, ['grain>oats', 'grain>rye', 'grain>=rye', 'grain<s', 'grain<=rye', 'grain<R']), [
    'grain>oats',
    'grain>=rye',
    'grain<s',
    'grain<=rye',
  ])
  t.same(met(silo, ['heat>20', 'heat>100', 'heat<100', 'heat<=21.5']), ['heat>20', 'heat<100', 'heat<=21.5'])
  t.same(met(silo, ['level>10', "level>'10'", 'open>false', 'note>=null', 'note<1', 'smell<z']), ["level>'10'"])
  t.equal(meets(holding({ a: '\u{1F600}' }), 'a>\uffff'), true)
})

test('a range includes its ends and its negation holds outside', async (t) => {
  t.same(met(silo, ['grain==oats..rye', 'grain==m..p', 'grain==rye..z', 'grain!=m..p', 'grain!=rye..z']), [
    'grain==oats..rye',
    'grain==rye..z',
    'grain!=m..p',
  ])
  t.same(met(silo, ['heat==21.5..22', 'heat==22..30', 'level==1..100', 'level!=1..100', 'smell!=a..b']), [
    'heat==21.5..22',
    'level!=1..100',
  ])
})

test('a list holds when one of it is equal, its negation when none is', async (t) => {
  t.same(
    met(silo, ['grain==oats,rye', 'grain==oats,barley', 'grain!=oats,rye', 'grain!=oats,barley', 'heat==1,21.5']),
    ['grain==oats,rye', 'grain!=oats,barley', 'heat==1,21.5'],
  )
})

test('a regular expression is searched in texts only', async (t) => {
  t.same(met(silo, ['grain~=y', 'grain~=^y', 'level~=^[0-9]+$', 'heat~=2', 'open~=t', "grain~='^r'"]), [
    'grain~=y',
    'level~=^[0-9]+$',
    "grain~='^r'",
  ])
})

test('a path reaches into a compound value, and a name with a dot is quoted', async (t) => {
  const barn = holding({ door: { lock: { kind: 'bolt' }, '': 'x', 'a.b': '1' }, 'door.lock': 'plain' })
  t.same(met(barn, ['door.lock.kind==bolt', 'door.lock', 'door.key', '!door.key', '!door.lock', 'door.lock.kind.x']), [
    'door.lock.kind==bolt',
    'door.lock',
    '!door.key',
  ])
  t.same(met(barn, ["'door.lock'==plain", "door.''==x", "door.'a.b'=='1'", 'door.lock==plain']), [
    "'door.lock'==plain",
    "door.''==x",
    "door.'a.b'=='1'",
  ])
  t.equal(meets(silo, "'tank.1'.level==low"), true)
  t.same(met(barn, ['door.constructor', 'door.toString', '!door.constructor']), ['!door.constructor'])
})

test('an array meets a statement when one of its items does, and an inequality when none is equal', async (t) => {
  const held = holding({ tags: ['b', 'd', 7], none: [] })
  t.same(met(held, ['tags==b', 'tags==7', 'tags==c', 'tags!=b', 'tags!=c', 'tags>c', 'tags==a..b', 'tags~=^d']), [
    'tags==b',
    'tags==7',
    'tags!=c',
    'tags>c',
    'tags==a..b',
    'tags~=^d',
  ])
  t.same(met(held, ['none', 'none==b', 'none!=b']), ['none', 'none!=b'])
  t.equal(meets(holding({ tags: ['a', 'z'] }), 'tags==b..c'), false, 'both ends by one item')
})

test('dates compare with dates and seconds', async (t) => {
  const held = holding({ due: Date.UTC(2031, 2, 1, 10) / 1000, text: '2031-03-01T10:00:00Z' })
  t.same(
    met(held, ['due==2031-03-01T10:00:00.000Z', 'due>2031-03-01', 'due<2031-03-01', 'due==2031-02-01..2031-04-01']),
    ['due==2031-03-01T10:00:00.000Z', 'due>2031-03-01', 'due==2031-02-01..2031-04-01'],
  )
  t.same(met(held, ['text==2031-03-01T10:00:00Z', "text=='2031-03-01T10:00:00Z'"]), ["text=='2031-03-01T10:00:00Z'"])
})

test('dateCreated and dateModified are the dates of the entity', async (t) => {
  const created = Date.UTC(2031, 2, 1, 10, 0, 0, 500)
  const held = entity({ created, modified: Date.UTC(2031, 3, 1), attributes: [attribute('dateCreated', 'own')] })
  t.same(
    met(held, ['dateCreated==2031-03-01T10:00:00.500Z', 'dateCreated>2031-03-01T10:00:00.500Z', 'dateCreated==own']),
    ['dateCreated==2031-03-01T10:00:00.500Z'],
  )
  t.same(met(held, ['dateModified>=2031-04-01', 'dateModified<2031-04-01', 'dateModified', '!dateModified']), [
    'dateModified>=2031-04-01',
    'dateModified',
  ])
})

test('one of several instances suffices, and absence means all of them', async (t) => {
  const levels = [attribute('level', '1', { instance: 'a' }), attribute('level', { max: '9' }, { instance: 'b' })]
  const held = entity({ attributes: levels })
  t.same(met(held, ["level=='1'", "level!='1'", "level=='2'", 'level.max', '!level.max', '!level', 'level']), [
    "level=='1'",
    "level!='1'",
    'level.max',
    'level',
  ])
})

test('a metadata filter looks at the metadata of an attribute and its dates', async (t) => {
  const date = Date.UTC(2031, 2, 1) as Milliseconds
  const metadata = [{ name: 'unit', type: '', value: 'raw' }]
  const more = [...metadata, { name: 'maker', type: '', value: { town: 'Graz' } }]
  const held = entity({
    attributes: [
      attribute('level', '1', { instance: 'north', metadata: more, created: date, modified: date }),
      attribute('place', '1,2', { isLocation: true }),
      attribute('spot', '1,2', { type: 'geo:point' }),
    ],
  })
  const filters = [
    'level.unit==raw',
    'level.unit==pct',
    '!level.unit',
    '!level.colour',
    'place.unit',
    'level.maker.town==Graz',
  ]
  t.same(met(held, filters, 'metadata'), ['level.unit==raw', '!level.colour', 'level.maker.town==Graz'])
  t.same(met(held, ['level.ID==north', '!sequence.ID', 'place.location==WGS84', 'spot.location'], 'metadata'), [
    'level.ID==north',
    '!sequence.ID',
    'place.location==WGS84',
  ])
  // Metadata of these names that NGSIv2 has written where the attribute is neither an instance nor marked.
  const ordinary = [
    { name: 'ID', type: 'Number', value: 5 },
    { name: 'location', type: 'Text', value: 'hall' },
  ]
  const shape = { type: 'Point', coordinates: [1, 2] }
  const written = entity({
    attributes: [
      attribute('level', '1', { metadata: ordinary }),
      attribute('pos', shape, { type: 'geo:json', isLocation: true }),
    ],
  })
  t.same(met(written, ['level.ID==5', 'level.location==hall', 'pos.location'], 'metadata'), [
    'level.ID==5',
    'level.location==hall',
  ])
  t.same(
    met(held, ['level.dateCreated==2031-03-01', 'level.dateModified>2031-03-01', 'smell.dateCreated'], 'metadata'),
    ['level.dateCreated==2031-03-01'],
  )
})

const plainText = fc.stringMatching(/^[A-Za-z\u00e0-\u00ff\u{1F600}-\u{1F610}]{0,4}$/u)

test('of <, == and > exactly one holds between two texts, as their bytes have it', async () => {
  fc.assert(
    fc.property(plainText, plainText, (a, b) => {
      const signs = ['<', '==', '>'].map((sign) => meets(holding({ a }), `a${sign}'${b}'`))
      const order = Math.sign(compareBytes(a, b))
      return signs.every((holds, at) => holds === (at - 1 === order))
    }),
  )
})

test('a negated statement holds exactly when the attribute exists and the plain one does not', async () => {
  const value = fc.oneof(
    fc.constant(null),
    fc.boolean(),
    fc.integer({ max: 9, min: 0 }),
    plainText,
    fc.array(plainText),
  )
  const right = fc.constantFrom('1', "'a'", '1..5', "'a'..'f'", '1,2,3', "'a','b'", 'null', 'true')
  fc.assert(
    fc.property(value, right, (held, text) => {
      const one = holding({ a: held })
      return meets(one, `a==${text}`) !== meets(one, `a!=${text}`) && meets(one, `b!=${text}`) === false
    }),
  )
})

test('in NGSIv2 the service path and the expiration are those of the entity [NGSIv2 context 10.2]', async (t) => {
  const own = [attribute('servicePath', 'mine'), attribute('dateExpires', 1e9, { type: 'DateTime' })]
  const brew = entity({ path: '/brew', attributes: own })
  t.equal(meets(brew, 'servicePath==/brew', 'attributes', 'ngsi2'), true)
  t.equal(meets(brew, 'servicePath==mine', 'attributes', 'ngsi2'), false)
  t.equal(meets(brew, 'servicePath==mine'), true, 'for NGSIv1 it is an attribute like any other')
  t.equal(meets(brew, 'dateExpires>2000-01-01', 'attributes', 'ngsi2'), true)
  t.equal(meets(brew, '!dateExpires', 'attributes', 'ngsi2'), false)
  for (const value of [null, 'soon']) {
    const lasting = entity({ attributes: [attribute('dateExpires', value, { type: 'DateTime' })] })
    t.equal(meets(lasting, '!dateExpires', 'attributes', 'ngsi2'), true, String(value))
  }
})

test('in NGSIv2 null stands in lists of texts [NGSIv2 context 10.2]', async (t) => {
  const filters = ['note==open,null', 'note!=open,null', 'grain==null,rye']
  t.same(
    filters.map((text) => meets(silo, text, 'attributes', 'ngsi2')),
    [true, false, true],
  )
  t.equal(meets(silo, 'note==open,null'), 'listMixed', 'not in those of NGSIv1')
})
