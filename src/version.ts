/** What is known of this build, all texts [management 8.1]. */
export const versionFacts = {
  version: '0.1.0',
  git_hash: 'nogitversion',
  compile_time: '',
  compiled_by: 'rigel',
  compiled_in: `node ${process.version}`,
  release_date: '',
  machine: process.arch,
  doc: '',
} as const

/** The versions of the main libraries by name [management 8.1]. */
export function libraryVersions(): Readonly<Record<string, string>> {
  return { node: process.version }
}
