import { adding, attribute, many, ofOne, type Sent, short } from './given.js'

/** A name of an attribute that is neither `id` nor `type`. */
export function name(at: number): string {
  return `a${short(at)}`
}

/** An attribute of such a name. */
function named(at: number): string {
  return attribute(name(at))
}

/** The entity One with one attribute. */
export function one(): readonly Sent[] {
  return [adding(ofOne(attribute('a')))]
}

/** The entity One with many attributes. */
export function large(size: number): readonly Sent[] {
  return [adding(ofOne(many(size, named)))]
}

/** The entity One with an attribute that has many elements of metadata. */
export function rich(size: number): readonly Sent[] {
  const metadata = many(size, (at) => `{"name":"${short(at)}","value":"1"}`)
  return [adding(ofOne(attribute('a', '"1"', metadata)))]
}
