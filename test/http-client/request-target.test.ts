import fc from 'fast-check'
import { test } from 'tap'
import { requestTarget } from '../../src/delivery/http-client/request-target.js'
import { unicodeText } from '../unicode-text.js'

test('the target of a request is what is written behind the host', async (t) => {
  for (const [url, target] of [
    ['http://there/n?a=x#y&b=1', '/n?a=x#y&b=1'],
    ['http://there:8080/n?a={"a":1}', '/n?a={"a":1}'],
    ['https://[::1]:8080/n/a/../b/./c', '/n/a/../b/./c'],
    ['http://user:word@there/n/${id}', '/n/${id}'],
    ['http://there/..', '/..'],
    ['http://there/%41|\\^`<>', '/%41|\\^`<>'],
    ['HTTP://there//op/query', '//op/query'],
    ['http://there/a:b@c', '/a:b@c'],
    ['http://there', '/'],
    ['http://there?a=b', '/?a=b'],
    ['http://there#a', '/#a'],
  ] as const) {
    t.equal(requestTarget(url), target, url)
  }
})

test('what cannot stand in a request line is percent-encoded as UTF-8', async (t) => {
  for (const [text, encoded] of [
    ['a b', 'a%20b'],
    ['x HTTP/1.1\r\nHost: other\r\n\r\n', 'x%20HTTP/1.1%0D%0AHost:%20other%0D%0A%0D%0A'],
    ['\t\0\x7f', '%09%00%7F'],
    ['é€🔥', '%C3%A9%E2%82%AC%F0%9F%94%A5'],
    ['\x85\u2028\ufeff', '%C2%85%E2%80%A8%EF%BB%BF'],
    ['\ud83d', '%EF%BF%BD'],
  ] as const) {
    t.equal(requestTarget(`http://there/n?a=${text}`), `/n?a=${encoded}`, encoded)
  }
})

test('no text splits the request line', async () => {
  fc.assert(
    fc.property(unicodeText(), (text) => {
      const target = requestTarget(`http://there/${text}`)
      if (!/^\/[!-~]*$/.test(target)) throw new Error(target)
    }),
  )
})
