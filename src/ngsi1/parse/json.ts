import {
  type JsonLeaves,
  type JsonMalformed,
  type JsonMembers,
  type JsonScalar,
  type JsonTree,
  readTree,
} from '../../json-reader.js'
import type { Result } from '../../result.js'
import type { Steps } from '../../slices.js'

/** A JSON text as NGSIv1 reads it: a scalar is its characters, so that `21.50` stays `21.50` [context 3.1]. */
export type Json = JsonTree<string>

export type JsonArray = readonly Json[]

export type JsonObject = JsonMembers<string>

const asWritten: JsonLeaves<string> = { text: (text) => text, other: (characters) => characters }

/** Reads a text that is JSON, in steps. A scalar at the top is for the caller to judge. */
export function readJson(text: string): Steps<Result<Json, JsonMalformed>> {
  return readTree(text, asWritten)
}

/** Whether a part of a payload is an array. */
export function isJsonArray<Leaf extends JsonScalar>(json: JsonTree<Leaf>): json is readonly JsonTree<Leaf>[] {
  return Array.isArray(json)
}
