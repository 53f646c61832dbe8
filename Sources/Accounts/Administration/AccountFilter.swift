import Primitives

/// The conditions of a search for accounts. All that are given must hold.
package struct AccountFilter: Sendable {
    package var email: EmailAddress?
    /// An address that the provider of an identity states, a relay address too.
    package var identityEmail: EmailAddress?
    package var externalID: ExternalID?
    package var emailPrefix: EmailPrefix?
    /// The whole name, in any case.
    package var name: DisplayName?
    package var provider: Provider?
    package var subject: ProviderSubject?
    package var status: Account.Status?

    package init() {}
}

/// How an address begins, in whatever case.
package struct EmailPrefix: Sendable {
    /// The beginnings of normalised addresses that are meant, in the order of their bytes. Letters of ASCII are folded; before
    /// the `@` they may be as they were typed as well, since what follows may be of another alphabet.
    package let texts: [String]

    /// `nil` for nothing, and for what is longer than an address.
    package init?(_ text: String) {
        guard !text.isEmpty, text.utf8.count <= EmailAddress.maximumBytes else { return nil }
        let bytes = Array(text.utf8)
        let at = bytes.firstIndex(of: UInt8(ascii: "@"))
        let typed = String(decoding: bytes[..<(at ?? bytes.endIndex)], as: UTF8.self)
        let folded = String(decoding: typed.utf8.map(\.asciiLowercased), as: UTF8.self)
        let rest = String(decoding: bytes[typed.utf8.count...].map(\.asciiLowercased), as: UTF8.self)
        let locals: [String] =
            if !typed.utf8.allSatisfy({ $0 < 0x80 }) {
                [typed]
            } else if at != nil || typed.hasSameBytes(as: folded) {
                [folded]
            } else {
                [typed, folded]
            }
        texts = locals.map { $0 + rest }
    }

    private init(texts: [String]) { self.texts = texts }

    /// Those of one beginning each, in their order.
    package var parts: [EmailPrefix] { texts.map { EmailPrefix(texts: [$0]) } }
}

/// The account after which the next page of accounts begins.
package struct AccountCursor: Sendable {
    package let id: AccountID
    /// Set in a list by email prefix, which is ordered by address.
    package let email: EmailAddress?

    package init(id: AccountID, email: EmailAddress?) {
        self.id = id
        self.email = email
    }
}

/// An account as an administrator sees it.
package struct AccountRecord: Sendable {
    package let account: Account
    package let disabledReason: String?
    /// The replacement of its address that is not in effect yet.
    package let emailReplacement: EmailReplacement?

    package init(account: Account, disabledReason: String?, emailReplacement: EmailReplacement?) {
        self.account = account
        self.disabledReason = disabledReason
        self.emailReplacement = emailReplacement
    }
}
