import Accounts

/// The languages in which mail can be written, the default one first; empty when no mail is sent.
struct MailLanguages: Sendable {
    let tags: [String]

    /// The language in which to write to the caller, by the lookup of RFC 4647 §3.4: `de-at` finds `de`.
    ///
    /// - Returns: `nil` when no mail is sent.
    func language(for caller: Caller) -> String? {
        for wanted in caller.languages {
            var subtags = wanted.split(separator: "-")
            while !subtags.isEmpty {
                let range = subtags.joined(separator: "-")
                if let language = tags.first(where: { $0.lowercased() == range }) {
                    return language
                }
                subtags.removeLast()
            }
        }
        return tags.first
    }
}
