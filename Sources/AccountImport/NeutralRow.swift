package import Accounts

/// A row of a source in the form that all of them become, as the source has it: nothing is checked yet.
package struct NeutralRow: Sendable {
    package struct Identity: Sendable {
        package var provider: Provider
        package var subject: String
        /// The Apple team's name in the configuration, where the source says it.
        package var realm: String?
        package var email: String?
        package var isEmailVerified = false
        /// By the domain where the source doesn't say.
        package var isPrivateEmail: Bool?
        package var linkedAt: Timestamp?
        /// The source's own word for the provider.
        package var word: String

        package init(provider: Provider, subject: String, word: String) {
            self.provider = provider
            self.subject = subject
            self.word = word
        }
    }

    package var externalID: String
    package var email: String?
    package var isEmailVerified = false
    package var displayName: String?
    package var createdAt: Timestamp?
    package var isDisabled = false
    package var identities: [Identity] = []
    /// The source's words for ways in that are none here.
    package var skipped: [String] = []
    package var password: String?

    package init(externalID: String) {
        self.externalID = externalID
    }
}

/// What a source calls the providers: an operator's aliases.
extension Dictionary where Key == String, Value == Provider {
    /// The provider that is meant by a word: by an alias, or else by the name that it has here.
    func provider(named word: String) -> Provider? { self[word] ?? Provider(rawValue: word) }
}

/// What a source yields.
package enum SourceRow: Sendable {
    case person(NeutralRow)
    /// It can't be read, or is not what the source's rows look like.
    case malformed(externalID: String?)
    case deleted(externalID: String?)
    case anonymous(externalID: String?)
}

/// A system from which people come: its rows, one after the other, in the source's order. One file each, which says how its
/// format maps.
package protocol ImportSource {
    /// `nil` behind the last row.
    ///
    /// - Throws: ``SourceFault`` when the source can't be read any further.
    mutating func next() async throws -> SourceRow?
}

/// A source can't be read, or not as it is asked for, in a sentence for the operator.
package struct SourceFault: Error, CustomStringConvertible {
    package let sentence: String
    package var description: String { sentence }

    package init(_ sentence: String) { self.sentence = sentence }
}
