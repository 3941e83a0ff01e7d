declare const brand: unique symbol

/** A type that is told apart from others of the same shape: an entity id is no entity type, a duration is no date. */
export type Brand<Base, Name extends string> = Base & { readonly [brand]: Name }
