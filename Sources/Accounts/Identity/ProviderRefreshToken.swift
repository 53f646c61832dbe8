/// A refresh token that a provider gave us: what a person's authorization is revoked and checked by. Its text goes to the
/// provider and, sealed, to the database; nothing prints it.
package struct ProviderRefreshToken: Hashable, Sendable, ExpressibleByStringInterpolation, CustomStringConvertible,
    CustomReflectable
{
    /// At most 4,096 printable ASCII characters (RFC 6749 appendix A.17).
    package let text: String

    package init(_ text: String) { self.text = text }

    package init(stringLiteral text: String) { self.init(text) }

    package var description: String { "a refresh token" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
