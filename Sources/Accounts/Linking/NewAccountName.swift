/// The name of an account that a link ticket makes.
package enum NewAccountName: Sendable {
    /// The one that the provider gave with the ticket's person, if any.
    case ofProvider
    /// What the person has left in the field that showed them the provider's: `nil` for none.
    case typed(DisplayName?)

    /// - Parameter typed: a name that takes the place of the provider's, or `nil`.
    package init(_ typed: DisplayName?) { self = typed.map { .typed($0) } ?? .ofProvider }

    /// - Parameter provided: the provider's.
    package func chosen(over provided: DisplayName?) -> DisplayName? {
        switch self {
        case .ofProvider: provided
        case .typed(let name): name
        }
    }
}
