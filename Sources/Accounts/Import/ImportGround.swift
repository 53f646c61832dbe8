/// What is there of that which the rows of a batch bring. Each row that becomes an account is added, so that the rows behind it
/// meet it.
package struct ImportGround: Sendable {
    /// Who has an address.
    package struct Holder: Sendable {
        let id: AccountID
        let proof: EmailProof

        package init(id: AccountID, proof: EmailProof) {
            self.id = id
            self.proof = proof
        }
    }

    /// The accounts of rows that came before; `nil` for one that is gone.
    private var rows: [ExternalID: AccountID?]
    private var identities: [IdentityKey: AccountID]
    private var addresses: [EmailAddress: Holder]
    /// The ids that accounts have which are of other imports.
    private let sharedIDs: Set<ExternalID>

    package init(
        rows: [ExternalID: AccountID?], identities: [IdentityKey: AccountID], addresses: [EmailAddress: Holder],
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
    /// - Returns: the person to be written besides, if one is.
    package mutating func decide(_ row: ImportRow, id: AccountID) -> (ImportResult, ImportedPerson?) {
        func result(_ outcome: ImportOutcome, _ more: [ImportNote] = []) -> ImportResult {
            ImportResult(externalID: row.externalID, outcome: outcome, notes: row.notes + more)
        }
        if let externalID = row.externalID, let known = rows[externalID] {
            // A run that was killed has its report from the one behind it. Of an account that is gone nothing is said.
            let notes = known == nil ? [] : row.notes.filter { $0.reported != nil }
            return (ImportResult(externalID: externalID, outcome: .unchanged(known), notes: notes), nil)
        }
        guard case .person(var person) = row.content else {
            guard case .refused(let code) = row.content else { return (result(.refused(.rowMalformed)), nil) }
            return (result(.refused(code)), nil)
        }
        for identity in person.identities {
            if let holder = identities[identity.key] { return (result(.conflict(.identityTaken, holder)), nil) }
        }
        var notes: [ImportNote] = []
        if let email = person.email, let holder = addresses[email] {
            // A relay address is of an identity, which leads to the account without it.
            guard email.isAppleRelay, !person.identities.isEmpty else {
                var claims: [ImportNote] = []
                if holder.proof == .claimed { claims.append(.holderClaimed) }
                if person.emailProof == .claimed { claims.append(.rowClaimed) }
                return (result(.conflict(.emailTaken, holder.id), claims), nil)
            }
            person.email = nil
            if !row.notes.contains(.emailDropped) { notes.append(.emailDropped) }
        }
        if sharedIDs.contains(person.externalID) { notes.append(.externalIDShared) }
        rows[person.externalID] = .some(id)
        for identity in person.identities { identities[identity.key] = id }
        if let email = person.email { addresses[email] = Holder(id: id, proof: person.emailProof) }
        return (result(.created(id), notes), person)
    }
}

extension EmailAddress {
    /// Whether it is one that Apple made for one app, and forwards.
    package var isAppleRelay: Bool { domain == "privaterelay.appleid.com" }
}
