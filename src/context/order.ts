export interface OrderKey {
  readonly by: string
  readonly reversed: boolean
}
