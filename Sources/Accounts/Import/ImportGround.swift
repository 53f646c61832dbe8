/// What is there of that which the rows of a batch bring. Each row that becomes an account is added, so that the rows behind it
/// meet it.
package struct ImportGround: Sendable {
    /// Who has an address.
    package struct Holder: Sendable {
        let id: AccountID
        let proof: EmailProof
        /// Whether a row of this import became the account.
        let isOfThisImport: Bool
        let identities: Set<IdentityKey>

        package init(id: AccountID, proof: EmailProof, isOfThisImport: Bool, identities: Set<IdentityKey>) {
            self.id = id
            self.proof = proof
            self.isOfThisImport = isOfThisImport
            self.identities = identities
        }
    }

    /// The account of a row that came before, as it is now: what a row may differ in.
    package struct Standing: Sendable {
        let id: AccountID
        let email: EmailAddress?
        let isDisabled: Bool
        let passwordHash: PasswordHash?
        let identities: Set<IdentityKey>

        package init(
            id: AccountID, email: EmailAddress?, isDisabled: Bool, passwordHash: PasswordHash?,
            identities: Set<IdentityKey>
        ) {
            self.id = id
            self.email = email
            self.isDisabled = isDisabled
            self.passwordHash = passwordHash
            self.identities = identities
        }
    }

    /// The accounts of rows that came before; `nil` for one that is gone.
    private var rows: [ExternalID: Standing?]
    private var identities: [IdentityKey: AccountID]
    private var addresses: [EmailAddress: Holder]
    /// The ids that accounts have which are of other imports.
    private let sharedIDs: Set<ExternalID>

    package init(
        rows: [ExternalID: Standing?], identities: [IdentityKey: AccountID], addresses: [EmailAddress: Holder],
        sharedIDs: Set<ExternalID>
    ) {
        self.rows = rows
        self.identities = identities
        self.addresses = addresses
        self.sharedIDs = sharedIDs
    }

    /// Decides a row. Whatever came before stays as it is, also where the row has changed since or would be refused now.
    ///
    /// - Parameter id: of the account that the row becomes, if it does.
    /// - Returns: its person is to be written where an account is created.
    package mutating func decide(_ row: ImportRow, id: AccountID) -> ImportResult {
        func result(_ outcome: ImportOutcome, _ notes: [ImportNote]) -> ImportResult {
            ImportResult(externalID: row.externalID, outcome: outcome, notes: notes, person: row.person)
        }
        if let externalID = row.externalID, let known = rows[externalID] {
            // A run that was killed has its report from the one behind it. Of an account that is gone nothing is said.
            return result(.unchanged(known?.id), known?.notes(of: row) ?? [])
        }
        var person: ImportedPerson
        switch row.content {
        case .person(let given): person = given
        case .refused(let code): return result(.refused(code), row.notes)
        }
        for identity in person.identities {
            if let holder = identities[identity.key] {
                return result(.conflict(.identityTaken, holder), row.notes)
            }
        }
        var notes = row.notes
        if let email = person.email, let holder = addresses[email] {
            // A relay address is of an identity, which leads to the account without it.
            guard email.isAppleRelay, !person.identities.isEmpty else {
                return result(.conflict(.emailTaken, holder.id), notes + holder.doubts(about: person))
            }
            person.email = nil
            if !notes.contains(.emailDropped) { notes.append(.emailDropped) }
        }
        if sharedIDs.contains(person.externalID) { notes.append(.externalIDShared) }
        let keys = Set(person.identities.map(\.key))
        rows[person.externalID] = Standing(
            id: id, email: person.email, isDisabled: person.isDisabled, passwordHash: person.passwordHash,
            identities: keys)
        for key in keys { identities[key] = id }
        if let email = person.email {
            addresses[email] = Holder(id: id, proof: person.emailProof, isOfThisImport: true, identities: keys)
        }
        return ImportResult(externalID: person.externalID, outcome: .created(id), notes: notes, person: person)
    }
}

extension ImportGround.Holder {
    /// Why the person of a row with the same address may be another one. No identity of the row is the holder's: that is a
    /// conflict before this one.
    fileprivate func doubts(about person: ImportedPerson) -> [ImportNote] {
        var notes: [ImportNote] = []
        if proof == .claimed { notes.append(.holderClaimed) }
        if person.emailProof == .claimed { notes.append(.rowClaimed) }
        if isOfThisImport { notes.append(.holderImported) }
        let isOther = person.identities.contains { identity in
            identities.contains { $0.provider == identity.key.provider && $0.realm == identity.key.realm }
        }
        if isOther { notes.append(.holderDiffers) }
        return notes
    }
}

extension ImportGround.Standing {
    /// The notes of a row that came before: its own, as far as they hold, and what it differs in.
    fileprivate func notes(of row: ImportRow) -> [ImportNote] {
        var lacksPassword = false
        let notes = row.notes.filter { note in
            switch note {
            case .passwordDropped, .passwordMissing:
                lacksPassword = true
                return passwordHash == nil
            case .identityMissing: return !identities.contains { $0.provider == .apple }
            case .rowMalformed: return false
            case .identitySkipped, .emailDropped, .nameCut, .subjectUnusual, .holderClaimed, .rowClaimed,
                .holderImported, .holderDiffers, .externalIDShared, .differs:
                return true
            }
        }
        guard let person = row.person else { return notes }
        var differences: [ImportNote] = []
        if person.isDisabled != isDisabled { differences.append(.differs(.disabled)) }
        // With one of ours, which its owner has signed in with or set here, nothing can be compared. The operator has both
        // hashes, so that it shows nothing how long this takes.
        let (here, there) = (passwordHash, person.passwordHash)
        if !lacksPassword, here?.isOwn != true, here != there { differences.append(.differs(.password)) }
        // A relay address that another account has stayed away.
        let isDropped = email == nil && person.email?.isAppleRelay == true && !person.identities.isEmpty
        if !isDropped, person.email != email { differences.append(.differs(.email)) }
        let compared = identities.filter { !person.leftOut.contains($0.provider) }
        if compared != Set(person.identities.map(\.key)) { differences.append(.differs(.identities)) }
        return notes + differences
    }
}

extension EmailAddress {
    /// Whether it is one that Apple made for one app, and forwards.
    package var isAppleRelay: Bool { domain == "privaterelay.appleid.com" }
}
