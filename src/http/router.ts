import type { Resource } from '../api.js'

/** A resource and what stands for the placeholders of its pattern. */
export interface MatchedRoute {
  readonly resource: Resource
  readonly segments: Readonly<Record<string, string>>
}

/** The names of the placeholders belong to the pattern, not to the place in the tree: `{id}` and `{type}` may share one. */
interface Leaf {
  readonly resource: Resource
  readonly names: readonly string[]
}

interface Branch {
  readonly exact: Map<string, Branch>
  readonly anyCase: Map<string, Branch>
  placeholder: Branch | undefined
  leaf: Leaf | undefined
}

/** The tree of all resources, walked by the decoded segments of a path [management 1]. */
export class Router {
  readonly #root = newBranch()

  constructor(resources: readonly Resource[]) {
    for (const resource of resources) {
      for (const pattern of [resource.pattern, ...(resource.aliases ?? [])]) {
        for (const variant of variants(pattern)) this.#add(resource, variant)
      }
    }
  }

  /** The resource of a path. A fixed segment wins over a placeholder; an empty segment is neither. */
  find(segments: readonly string[]): MatchedRoute | undefined {
    const values: string[] = []
    const leaf = walk(this.#root, segments, 0, values)
    if (leaf === undefined) return undefined
    return { resource: leaf.resource, segments: named(leaf.names, values) }
  }

  #add(resource: Resource, pattern: string): void {
    const names: string[] = []
    let branch = this.#root
    for (const segment of segmentsOf(pattern)) {
      const name = placeholderName(segment)
      if (name === undefined) branch = fixedBranch(branch, segment, resource.anyCase)
      else {
        names.push(name)
        branch.placeholder ??= newBranch()
        branch = branch.placeholder
      }
    }
    if (branch.leaf !== undefined) throw new Error(`${pattern} and ${branch.leaf.resource.pattern} are the same path`)
    branch.leaf = { resource, names }
  }
}

/** The segments of a path as it came or of a pattern; one slash at the end is ignored. */
export function segmentsOf(path: string): readonly string[] {
  const end = path.endsWith('/') ? path.length - 1 : path.length
  return end <= 0 ? [] : path.slice(path.startsWith('/') ? 1 : 0, end).split('/')
}

function walk(branch: Branch, segments: readonly string[], at: number, values: string[]): Leaf | undefined {
  const segment = segments[at]
  if (segment === undefined) return branch.leaf
  if (segment === '') return undefined
  const fixed = branch.exact.get(segment) ?? branch.anyCase.get(segment.toLowerCase())
  const leaf = fixed === undefined ? undefined : walk(fixed, segments, at + 1, values)
  if (leaf !== undefined || branch.placeholder === undefined) return leaf
  values.push(segment)
  const under = walk(branch.placeholder, segments, at + 1, values)
  if (under === undefined) values.pop()
  return under
}

const noSegments: Readonly<Record<string, string>> = Object.freeze({})

function named(names: readonly string[], values: readonly string[]): Readonly<Record<string, string>> {
  if (names.length === 0) return noSegments
  const segments: Record<string, string> = {}
  for (const [index, name] of names.entries()) segments[name] = values[index] ?? ''
  return segments
}

/** `/log/trace[/{levels}]` stands for the pattern without and with its last segment. */
function variants(pattern: string): readonly string[] {
  const optional = /^(.*)\[(.*)\]$/.exec(pattern)
  return optional === null ? [pattern] : [optional[1] ?? '', `${optional[1]}${optional[2]}`]
}

function placeholderName(segment: string): string | undefined {
  return /^\{(\w+)\}$/.exec(segment)?.[1]
}

function fixedBranch(branch: Branch, segment: string, anyCase: boolean): Branch {
  const branches = anyCase ? branch.anyCase : branch.exact
  const key = anyCase ? segment.toLowerCase() : segment
  const found = branches.get(key) ?? newBranch()
  branches.set(key, found)
  return found
}

function newBranch(): Branch {
  return { exact: new Map(), anyCase: new Map(), placeholder: undefined, leaf: undefined }
}
