package import Accounts

/// The rules by which a row of any source becomes a person of ours, or is refused. They see the row alone; what is in the
/// database is looked at afterwards.
package struct RowRules: Sendable {
    /// The names of the configured Apple teams.
    package var appleTeams: Set<Realm> = []
    /// The team of Apple identities that name none.
    package var appleTeam: Realm?
    package var skipsApple = false
    package var skipsGoogle = false
    package var skipsPasswords = false
    /// The degree of an address that the source calls verified.
    package var verified = EmailProof.stated
    /// The kinds of hashes that can be checked here.
    package var passwordKinds = Set(ForeignPasswordHash.Kind.allCases)
    /// Whether hashes may be in the forms that only our own sources make.
    package var allowsOwnForms = false

    package init() {}

    /// - Throws: ``SourceFault`` for an Apple identity of which nothing says the team.
    package func check(_ row: SourceRow, at now: Timestamp) throws(SourceFault) -> ImportRow {
        switch row {
        case .person(let row): try check(row, at: now)
        case .malformed(externalID: let id, let fault): Self.malformed(id, fault)
        case .deleted(let id): Self.refused(id, .deleted)
        case .anonymous(let id): Self.refused(id, .anonymous)
        }
    }

    private static func refused(_ id: String?, _ code: ImportCode, _ notes: [ImportNote] = []) -> ImportRow {
        ImportRow(externalID: id.flatMap(ExternalID.init), content: .refused(code), notes: notes)
    }

    private static func malformed(_ id: String?, _ fault: RowFault) -> ImportRow {
        refused(id, .rowMalformed, [.rowMalformed(word(fault.text))])
    }

    private func check(_ row: NeutralRow, at now: Timestamp) throws(SourceFault) -> ImportRow {
        guard let externalID = ExternalID(row.externalID) else { return Self.malformed(nil, .invalid("externalId")) }
        var notes: [ImportNote] = []
        func note(_ note: ImportNote) { if notes.count < Self.maximumNotes { notes.append(note) } }
        for word in row.skipped { note(.identitySkipped(Self.word(word))) }
        let createdAt = min(row.createdAt ?? now, now)
        var identities: [ImportedPerson.Identity] = []
        var leftOut: Set<Provider> = []
        // What is wrong with the team of one comes before what is wrong with the subject of another.
        let teams = try row.identities.map { identity throws(SourceFault) in try team(of: identity) }
        if teams.contains(where: \.isUnknown) { return Self.refused(externalID.text, .teamUnknown, notes) }
        for (identity, team) in zip(row.identities, teams) {
            switch self.identity(identity, team, createdAt: createdAt, at: now) {
            case .skipped:
                leftOut.insert(identity.provider)
                note(.identitySkipped(Self.word(identity.word)))
            case .refused(let code): return Self.refused(externalID.text, code, notes)
            case .linked(let linked, let losesEmail):
                let isSecond = identities.contains {
                    $0.key.provider == linked.key.provider && $0.key.realm == linked.key.realm
                }
                if isSecond {
                    note(.identitySkipped(Self.word(identity.word)))
                } else {
                    identities.append(linked)
                    if losesEmail, !notes.contains(.emailDropped) { note(.emailDropped) }
                    let isUnusual = Self.isUnusual(linked.key.subject)
                    if isUnusual, !notes.contains(.subjectUnusual) { note(.subjectUnusual) }
                }
            }
        }
        var email: EmailAddress?
        if let text = row.email, !text.isEmpty {
            guard let address = EmailAddress(text) else { return Self.refused(externalID.text, .emailMalformed, notes) }
            email = address
        }
        guard email != nil || !identities.isEmpty else { return Self.refused(externalID.text, .noWayIn, notes) }
        let hasApple = identities.contains { $0.key.provider == .apple }
        if !skipsApple, !hasApple, email?.isAppleRelay == true { notes.append(.identityMissing) }
        let name = row.displayName.flatMap(DisplayName.init)
        if let given = row.displayName, DisplayName.cuts(given) { notes.append(.nameCut) }
        var hash: PasswordHash?
        // What begins with `!` is Django's mark of an account without a password.
        if let text = row.password, !text.isEmpty, !text.hasPrefix("!") {
            if accepts(text) {
                hash = PasswordHash.imported(text)
            } else {
                notes.append(.passwordDropped(ForeignPasswordHash.kind(of: text)))
            }
        } else if row.hasPassword {
            notes.append(.passwordMissing)
        }
        return ImportRow(
            externalID: externalID,
            content: .person(
                ImportedPerson(
                    externalID: externalID, email: email, emailProof: row.isEmailVerified ? verified : .claimed,
                    displayName: name, createdAt: createdAt, isDisabled: row.isDisabled, identities: identities,
                    leftOut: leftOut, passwordHash: hash)),
            notes: notes)
    }

    private enum CheckedIdentity {
        case linked(ImportedPerson.Identity, losesEmail: Bool)
        case skipped
        case refused(ImportCode)
    }

    /// An address, another system's id of the identity, a subject with what stood around it.
    private static func isUnusual(_ subject: ProviderSubject) -> Bool {
        subject.text.unicodeScalars.contains { $0 == "@" || $0 == "|" || $0.properties.isWhitespace }
    }

    /// Of how many things in one row the report speaks.
    private static let maximumNotes = 64

    private enum Team {
        case known(Realm)
        case skipped
        case unknown

        var isUnknown: Bool { if case .unknown = self { true } else { false } }
    }

    private func team(of identity: NeutralRow.Identity) throws(SourceFault) -> Team {
        switch identity.provider {
        case .google:
            if skipsGoogle { return .skipped }
            return identity.realm == nil || identity.realm == Realm.main.text ? .known(.main) : .unknown
        case .apple:
            if skipsApple { return .skipped }
            guard let team = identity.realm.map(Realm.init) ?? appleTeam else {
                throw SourceFault(
                    """
                    An Apple identity names no team, and a subject of Apple's means something within one team only: say \
                    which by --apple-team, or leave Apple's out by --skip-apple.
                    """)
            }
            return appleTeams.contains(team) ? .known(team) : .unknown
        }
    }

    private func identity(
        _ identity: NeutralRow.Identity, _ team: Team, createdAt: Timestamp, at now: Timestamp
    ) -> CheckedIdentity {
        guard case .known(let realm) = team else { return .skipped }
        guard let subject = ProviderSubject(identity.subject) else { return .refused(.subjectMalformed) }
        let given = identity.email.flatMap { $0.isEmpty ? nil : $0 }
        let email = given.flatMap(EmailAddress.init)
        return .linked(
            ImportedPerson.Identity(
                key: IdentityKey(provider: identity.provider, realm: realm, subject: subject), email: email,
                isEmailVerified: email != nil && identity.isEmailVerified,
                isPrivateEmail: identity.isPrivateEmail ?? email?.isAppleRelay ?? false,
                linkedAt: min(identity.linkedAt ?? createdAt, now)),
            losesEmail: given != nil && email == nil)
    }

    private func accepts(_ text: String) -> Bool {
        guard !skipsPasswords, let hash = ForeignPasswordHash(text), hash.isCheckable(by: passwordKinds) else {
            return false
        }
        return allowsOwnForms || hash.kind != .firebase && hash.kind != .keycloak
    }

    /// A word of the source's, as the report may have it.
    private static func word(_ text: String) -> String {
        let fit = text.utf8.prefix(64).filter { (0x21...0x7E).contains($0) }
        return fit.isEmpty ? "unnamed" : String(decoding: fit, as: UTF8.self)
    }
}
