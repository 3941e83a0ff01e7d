import { createHash, timingSafeEqual } from 'node:crypto'

/** Says whether an Authorization header carries the token of the management interface [management 13]. */
export type TokenCheck = (authorization: string | undefined) => boolean

/** The check of a token. Digests are compared, so that the time says nothing, not even the token's length. */
export function tokenCheck(token: string | undefined): TokenCheck {
  if (token === undefined) return () => true
  const expected = digest(token)
  return (authorization) => {
    const given = /^bearer +(.*)$/i.exec(authorization ?? '')?.[1]
    return given !== undefined && timingSafeEqual(digest(given.trim()), expected)
  }
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
