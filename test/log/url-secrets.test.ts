import fc from 'fast-check'
import { test } from 'tap'
import { textWithoutSecrets, urlWithoutSecrets } from '../../src/observe/log/secrets.js'
import {
  withoutOpenUser,
  withoutPlainUsers,
  withoutQuotedUsers,
  withoutSecretParameters,
} from '../../src/observe/log/url-secrets.js'

/** What the scanners do, as patterns. They go back over long texts again and again, and are right for short ones. */
const quoted = /("(?:https?:[\\/]*|(?:[a-z][a-z0-9+.-]{0,30}:)?(?:\\?\/){2}))(?:[^"\\/?#]|\\[^/])*@/gi
const plain = /(https?:[\\/]*|(?:\\?\/){2})[^\s/?#"]*@/gi
const open = /(https?:[\\/]*|(?:\\?\/){2})[^\s/?#"@]*$/i
const user = /^([a-z][a-z0-9+.-]*:)?[\\/]{2,}[^/?#]*@/i
const parameter = /([?&;])([^=&;#?\s"\\]{1,64})=[^&;#\s"]*/g

const pieces = ['"', '\\', '/', '@', '?', '#', 'a', 'http:', 'HTTPS:', 'mqtt:', '//', '\\"', '\\/', ' ', '\n', 'é', 'h']
const text = fc.array(fc.constantFrom(...pieces), { maxLength: 24 }).map((parts) => parts.join(''))
const runs = { numRuns: 30_000 }

test('users of URLs are hidden where the patterns find them', async () => {
  fc.assert(
    fc.property(text, (given) => withoutQuotedUsers(given) === given.replace(quoted, '$1***@')),
    runs,
  )
  fc.assert(
    fc.property(text, (given) => withoutPlainUsers(given) === given.replace(plain, '$1***@')),
    runs,
  )
  fc.assert(
    fc.property(text, (given) => withoutOpenUser(given) === given.replace(open, '$1***')),
    runs,
  )
  fc.assert(
    fc.property(text, (given) => urlWithoutSecrets(given) === textWithoutSecrets(given.replace(user, '$1//***@'))),
    runs,
  )
})

test('parameters are hidden where the pattern finds them', async () => {
  const long = 'n'.repeat(64)
  const parts = fc.constantFrom('?', '&', ';', '=', 'token', 'Password', '%74oken', 'x', '#', ' ', '"', '\\', long)
  const query = fc.array(parts, { maxLength: 24 }).map((each) => each.join(''))
  const isSecret = (name: string) => /^(?:token|password|%74oken)$/i.test(name)
  const expected = (given: string) =>
    given.replace(parameter, (pair: string, separator: string, name: string) =>
      isSecret(name) ? `${separator}${name}=***` : pair,
    )
  fc.assert(
    fc.property(query, (given) => withoutSecretParameters(given) === expected(given)),
    runs,
  )
})

test('a scheme is a short one', async (t) => {
  for (const length of [31, 32]) {
    const url = `"${'a'.repeat(length)}://u@h"`
    t.equal(withoutQuotedUsers(url), url.replace(quoted, '$1***@'), String(length))
  }
})
