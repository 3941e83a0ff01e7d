import { test } from 'tap'
import { urlWithoutSecrets, withoutSecrets } from '../../src/log/secrets.js'

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
