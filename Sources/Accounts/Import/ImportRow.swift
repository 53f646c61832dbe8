/// A row of another system, checked: what is to become of it if nothing here stands against it.
package struct ImportRow: Sendable {
    /// Absent where not even that can be read.
    package let externalID: ExternalID?
    package let content: Content
    package let notes: [ImportNote]

    package enum Content: Sendable {
        case person(ImportedPerson)
        case refused(ImportCode)
    }

    package init(externalID: ExternalID?, content: Content, notes: [ImportNote] = []) {
        self.externalID = externalID
        self.content = content
        self.notes = notes
    }

    /// `nil` where the row was refused.
    package var person: ImportedPerson? { if case .person(let person) = content { person } else { nil } }

    /// What its texts take, about.
    package var byteCount: Int {
        guard let person else { return 64 }
        return 256 + (person.passwordHash?.text.utf8.count ?? 0) + notes.count * 64 + person.identities.count * 768
    }
}

/// A person of another system, as the account that they get.
package struct ImportedPerson: Sendable {
    package struct Identity: Sendable {
        package let key: IdentityKey
        package let email: EmailAddress?
        package let isEmailVerified: Bool
        package let isPrivateEmail: Bool
        package let linkedAt: Timestamp

        package init(
            key: IdentityKey, email: EmailAddress?, isEmailVerified: Bool, isPrivateEmail: Bool, linkedAt: Timestamp
        ) {
            self.key = key
            self.email = email
            self.isEmailVerified = isEmailVerified
            self.isPrivateEmail = isPrivateEmail
            self.linkedAt = linkedAt
        }
    }

    package let externalID: ExternalID
    package var email: EmailAddress?
    package let emailProof: EmailProof
    package let displayName: DisplayName?
    package let createdAt: Timestamp
    package let isDisabled: Bool
    /// At most one of each provider and realm.
    package let identities: [Identity]
    /// The providers of which the source has an identity that the run leaves out.
    package let leftOut: Set<Provider>
    package let passwordHash: PasswordHash?

    package init(
        externalID: ExternalID, email: EmailAddress?, emailProof: EmailProof, displayName: DisplayName?,
        createdAt: Timestamp, isDisabled: Bool, identities: [Identity], leftOut: Set<Provider> = [],
        passwordHash: PasswordHash?
    ) {
        self.externalID = externalID
        self.email = email
        self.emailProof = emailProof
        self.displayName = displayName
        self.createdAt = createdAt
        self.isDisabled = isDisabled
        self.identities = identities
        self.leftOut = leftOut
        self.passwordHash = passwordHash
    }
}

/// Why a row did not become an account. Of several the first.
package enum ImportCode: String, CaseIterable, Sendable {
    case rowMalformed = "row_malformed"
    case deleted
    case anonymous
    case teamUnknown = "team_unknown"
    case subjectMalformed = "subject_malformed"
    case emailMalformed = "email_malformed"
    case noWayIn = "no_way_in"
    case identityTaken = "identity_taken"
    case emailTaken = "email_taken"

    /// Whether everything is in although such a row is not: it was of no person.
    package var isExpected: Bool { self == .deleted || self == .anonymous }
}

/// What of a row did not come along, and what else its reader has to know; of one that can't be read, why.
package enum ImportNote: Hashable, Sendable {
    case passwordDropped(ForeignPasswordHash.Kind)
    /// The person has a password there, and the source no hash of it.
    case passwordMissing
    /// By the source's own word for it.
    case identitySkipped(String)
    /// The address is one that Apple made and forwards, and the source has no Apple identity of the person.
    case identityMissing
    case emailDropped
    case nameCut
    /// A subject is like none that Apple or Google give out, so that no sign-in finds it.
    case subjectUnusual
    /// Of a conflict over an address: the account that has it doesn't prove it, and may be another person's.
    case holderClaimed
    /// Of a conflict over an address: the source doesn't call the row's verified.
    case rowClaimed
    /// Of a conflict over an address: the account that has it is of another row of this import, and so of another person there.
    case holderImported
    /// Of a conflict over an address: the account that has it has another identity of the same provider and realm.
    case holderDiffers
    /// An account of another import has the same id.
    case externalIDShared
    /// The account of a row that came before is not as the row is now: one of the two has changed.
    case differs(Difference)
    /// By the kind of fault and the member that has it. It is in no report, whose words are fixed: a run says it beside.
    case rowMalformed(String)

    package enum Difference: String, Sendable {
        case disabled
        case password
        case email
        case identities
    }

    /// The word of the report.
    package var reported: String? { if case .rowMalformed = self { nil } else { text } }

    package var text: String {
        switch self {
        case .passwordDropped(let kind): "password_dropped:\(kind.rawValue)"
        case .passwordMissing: "password_missing"
        case .identitySkipped(let word): "identity_skipped:\(word)"
        case .identityMissing: "identity_missing"
        case .emailDropped: "email_dropped"
        case .nameCut: "name_cut"
        case .subjectUnusual: "subject_unusual"
        case .holderClaimed: "holder_claimed"
        case .rowClaimed: "row_claimed"
        case .holderImported: "holder_imported"
        case .holderDiffers: "holder_differs"
        case .externalIDShared: "external_id_shared"
        case .differs(let difference): "differs:\(difference.rawValue)"
        case .rowMalformed(let fault): fault
        }
    }
}

/// What became of a row.
package enum ImportOutcome: Hashable, Sendable {
    case created(AccountID)
    /// The row came before; `nil` when its account is gone.
    case unchanged(AccountID?)
    /// Another account, or an earlier row, has what it brings: which.
    case conflict(ImportCode, AccountID)
    case refused(ImportCode)

    package var word: String {
        switch self {
        case .created: "created"
        case .unchanged: "unchanged"
        case .conflict: "conflict"
        case .refused: "refused"
        }
    }

    package var code: ImportCode? {
        switch self {
        case .created, .unchanged: nil
        case .conflict(let code, _), .refused(let code): code
        }
    }

    package var accountID: AccountID? {
        switch self {
        case .created(let id), .conflict(_, let id): id
        case .unchanged(let id): id
        case .refused: nil
        }
    }
}

/// A row's outcome with its notes.
package struct ImportResult: Sendable {
    package let externalID: ExternalID?
    package let outcome: ImportOutcome
    package let notes: [ImportNote]
    /// Of the row, as it becomes an account where one is created; `nil` where it was refused.
    package let person: ImportedPerson?
}
