import { createRequire } from 'node:module'

/**
 * Those of some packages that are not installed: an installation of the broker has not what some benchmarks compare it
 * with. The sources have it, after `npm ci`.
 */
export function missingPackages(...names: readonly string[]): readonly string[] {
  const { resolve } = createRequire(import.meta.url)
  return names.filter((name) => {
    try {
      return resolve(name) === ''
    } catch {
      return true
    }
  })
}
