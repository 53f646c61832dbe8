import Accounts
import Primitives
import Texts

/// The languages in which mail can be written, the default one first; empty when no mail is sent.
struct MailLanguages: Sendable {
    let tags: [String]

    /// The language in which to write to the caller, by the lookup of RFC 4647 §3.4: `de-at` finds `de`. Behind that, `pt`
    /// and `pt-PT` find the built-in `pt-BR`.
    ///
    /// - Returns: `nil` when no mail is sent.
    func language(for caller: Caller) -> String? {
        for wanted in caller.languages {
            var subtags = wanted.split(separator: "-")
            while !subtags.isEmpty {
                let range = subtags.joined(separator: "-")
                if let language = tags.first(where: { $0.utf8.equalsIgnoringASCIICase(range.utf8) }) {
                    return language
                }
                subtags.removeLast()
            }
            if let language = Language(matching: wanted)?.rawValue, tags.contains(language) { return language }
        }
        return tags.first
    }
}
