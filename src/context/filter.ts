export interface Filter {
  readonly on: FilterSide
  readonly statements: readonly unknown[]
}

export type FilterSide = 'attributes' | 'metadata'
