import Accounts

/// The languages in which mail can be written, the default one first; empty when no mail is sent.
struct MailLanguages: Sendable {
    let tags: [String]

    /// The language in which to write to the client, by the lookup of RFC 4647 §3.4: `de-at` finds `de`.
    ///
    /// - Returns: `nil` when no mail is sent.
    func language(for client: Client) -> String? {
        for wanted in client.languages {
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

    /// The origin under which a change by the client is recorded and mailed.
    func origin(of client: Client) -> ChangeOrigin {
        ChangeOrigin(
            actor: .person, requestID: client.requestID, network: client.network, mailLanguage: language(for: client))
    }
}
