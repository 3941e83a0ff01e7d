export interface Area {
  readonly kind: 'circle'
}
