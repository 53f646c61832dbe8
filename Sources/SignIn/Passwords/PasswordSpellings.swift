import Foundation
import Primitives

/// What a typed password may have been when it was hashed: of the same letters one keyboard makes other scalars than another.
struct PasswordSpellings: Sendable {
    /// The normal form NFKC (NIST SP 800-63B §5.1.1.2), in which passwords are hashed.
    let normal: String
    /// The normal form and, where it is another one, what was typed: hashes from before are of that, and those of most
    /// other systems. One of a password in ASCII.
    let all: [String]

    init(_ typed: String) {
        normal = typed.precomposedStringWithCompatibilityMapping
        all = normal.hasSameBytes(as: typed) ? [typed] : [normal, typed]
    }
}
