export interface Filter {
  readonly statements: readonly unknown[]
}
