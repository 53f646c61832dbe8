import Foundation
import Primitives

/// What a typed password may have been when it was hashed: of the same letters one keyboard makes other scalars than another.
struct PasswordSpellings: Sendable {
    /// The normal form NFKC (NIST SP 800-63B §5.1.1.2), in which passwords are hashed.
    let normal: String
    /// The normal form and, where they are others, what was typed: hashes from before are of that, and those of most other
    /// systems; and what Foundation makes of it in one step, of which hashes of ours were for a while. One of a password in
    /// ASCII.
    let all: [String]

    init(_ typed: String) {
        // In one step Foundation leaves a mark alone that came of a compatible character, as that of `ﾊﾟ`, and the last jamo
        // behind a syllable.
        normal = typed.decomposedStringWithCompatibilityMapping.precomposedStringWithCanonicalMapping
        all = [normal, typed, typed.precomposedStringWithCompatibilityMapping].reduce(into: []) { known, spelling in
            if !known.contains(where: { $0.hasSameBytes(as: spelling) }) { known.append(spelling) }
        }
    }
}
