package import Accounts
import Synchronization

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
    /// Its hash.
    package var password: String?
    /// Whether the source says that there is a password, also where it has no hash of it.
    package var hasPassword = false

    package init(externalID: String) { self.externalID = externalID }
}

extension NeutralRow {
    /// Adds an identity, or the source's word for its provider where that is none here.
    ///
    /// - Parameter complete: sets what else the source says of it.
    mutating func add(
        _ word: String, _ provider: Provider?, subject: String?, _ complete: (inout Identity) -> Void = { _ in }
    ) {
        guard let provider else { return skipped.append(word) }
        var identity = Identity(provider: provider, subject: subject ?? "", word: word)
        complete(&identity)
        identities.append(identity)
    }
}

/// What a source calls the providers: an operator's aliases. It knows which of them the source's rows have had.
package final class ProviderAliases: Sendable, ExpressibleByDictionaryLiteral {
    private let providers: [String: Provider]
    private let met = Mutex<Set<String>>([])

    /// Of two with one word the last counts.
    package init(_ aliases: [(String, Provider)]) { providers = Dictionary(aliases) { _, last in last } }

    package convenience init(dictionaryLiteral elements: (String, Provider)...) { self.init(elements) }

    /// The provider that is meant by a word, by an alias alone.
    func provider(aliased word: String) -> Provider? {
        guard let provider = providers[word] else { return nil }
        met.withLock { _ = $0.insert(word) }
        return provider
    }

    /// The provider that is meant by a word: by an alias, or else by the name that it has here.
    func provider(named word: String) -> Provider? { provider(aliased: word) ?? Provider(rawValue: word) }

    /// The words that no row has had.
    package var unmet: [String] {
        let seen = met.withLock(\.self)
        return providers.keys.filter { !seen.contains($0) }.sorted()
    }
}

/// What a source yields.
package enum SourceRow: Sendable {
    case person(NeutralRow)
    /// It can't be read, or is not what the source's rows look like.
    case malformed(externalID: String?, RowFault)
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

    /// Whether what was read to its end is all, and not one page of several.
    var isWhole: Bool { get }
}

extension ImportSource {
    package var isWhole: Bool { true }
}

/// A source can't be read, or not as it is asked for, in a sentence for the operator.
package struct SourceFault: Error, CustomStringConvertible {
    package let sentence: String
    package var description: String { sentence }

    package init(_ sentence: String) { self.sentence = sentence }
}
