import { test } from 'tap'
import { payloadShown, textWithoutSecrets, urlWithoutSecrets, withoutSecrets } from '../../src/observe/log/secrets.js'
import { staysWithin } from '../pace.js'
import { areAll } from '../runs.js'

test('the values of headers that carry secrets are hidden, whatever their case', async (t) => {
  const headers = {
    Authorization: 'Bearer x',
    'x-auth-token': 'x',
    cookie: 'x',
    'set-cookie': ['x', 'y'],
    'Proxy-Authorization': 'x',
  }
  for (const value of Object.values(withoutSecrets(headers))) t.equal(value, '***')
  t.same(withoutSecrets({ accept: 'a', host: undefined, via: ['b', 'c'] }), { accept: 'a', via: 'b,c' })
})

test('a URL is shown without its user and without its secret parameters', async (t) => {
  t.equal(urlWithoutSecrets('http://user:pass@host:1/p?q=1'), 'http://***@host:1/p?q=1')
  t.equal(urlWithoutSecrets('http://a:p@ss@host/'), 'http://***@host/')
  t.equal(urlWithoutSecrets('http://host/a@b'), 'http://host/a@b')
  t.equal(
    urlWithoutSecrets('/p?token=1&access_token=2&apikey=3&api_key=4&password=5&limit=6'),
    '/p?token=***&access_token=***&apikey=***&api_key=***&password=***&limit=6',
  )
  t.equal(
    urlWithoutSecrets('/p?%74oken=1&TOKEN=2&tokens=3&token=&%=4'),
    '/p?%74oken=***&TOKEN=***&tokens=3&token=***&%=4',
  )
})

test('URLs are without secrets wherever they stand in a text', async (t) => {
  for (const [text, shown] of [
    ['to http://u:p@h/a and //v@h, not a@b', 'to http://***@h/a and //***@h, not a@b'],
    ['{"provider":"http://u x:p\\"q@h:1/v1","mail":"a@b"}', '{"provider":"http://***@h:1/v1","mail":"a@b"}'],
    ['{"provider":"http:\\/\\/u:p@h\\/v1","path":"/a@b"}', '{"provider":"http:\\/\\/***@h\\/v1","path":"/a@b"}'],
    ['HTTPS:u:p@h, http:\\\\u:p@h', 'HTTPS:***@h, http:\\\\***@h'],
    ['"/p?token=a&x=1", ?PassWord=b c=d', '"/p?token=***&x=1", ?PassWord=*** c=d'],
    ['http://host:1/a@b?c=d@e', 'http://host:1/a@b?c=d@e'],
  ] as const)
    t.equal(textWithoutSecrets(text), shown)
})

test('no part of a secret is left where a payload is cut', async (t) => {
  const url = 'http://user:password@host/way'
  for (let before = 0; before < 60; before += 1) {
    const shown = payloadShown(`${'x'.repeat(before)} ${url} ${'y'.repeat(9000)}`, 40)
    t.notMatch(shown, /us|pa(s|\()/, shown)
  }
  t.notMatch(
    payloadShown(`http://user:${'p'.repeat(5000)}`, 100),
    'pp',
    'nor where it ends beyond all that is looked at',
  )
})

const hostilePieces = [
  ...['/', '//', '"', '"http:', '"//', '?', '?a', '&token', 'a@', '\\', '"\\/', '//a', '=', '@=', ' ', '\r \n'],
  ...[
    'http:',
    'https:/',
    '\\"http:',
    '\\"//',
    '"http:\\',
    '"http:\\\\',
    'http:@ ',
    '\\"http:@',
    '"http:@\\',
    '?a=?',
    '&a=b?c',
    '//\\',
  ],
]

/** So long that what takes time by the square of it takes longer than the limit. */
const length = areAll ? 500_000 : 100_000

test('long texts of any kind are looked through in linear time', async (t) => {
  for (const piece of hostilePieces) {
    const text = piece.repeat(length / piece.length)
    const isLinear = await staysWithin(2000, () => {
      textWithoutSecrets(`${text}@=`)
      textWithoutSecrets(`@=${text}`)
      urlWithoutSecrets(`//${text}`)
      payloadShown(`${text}x`, 0.8 * length)
      payloadShown(`${text}x`, 1.2 * length)
    })
    t.ok(isLinear, piece)
  }
})
