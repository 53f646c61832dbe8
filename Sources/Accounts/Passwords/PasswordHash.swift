/// The hash of an account's password as `accounts.password_hash` keeps it: in our own form, or as it came with an import
/// (``ForeignPasswordHash``). A change by who has proven the password is good as long as this is the stored one, byte for
/// byte.
///
/// Its description shows nothing of it.
package struct PasswordHash: ExactString {
    package let text: String

    package init(_ text: String) { self.text = text }

    /// A hash that comes with an import. One in our own form, as another installation of the service makes it, is kept without
    /// its first `$`: until its owner has signed in it is no password of this service.
    package static func imported(_ text: String) -> PasswordHash {
        PasswordHash(text.hasPrefix("$scrypt$") ? String(text.dropFirst()) : text)
    }

    /// Whether it is in our own form. One that is not came with an import, and its owner has not signed in yet.
    package var isOwn: Bool { text.hasPrefix("$scrypt$ln=") }

    package var description: String { "PasswordHash" }
}
