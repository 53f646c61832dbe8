import Foundation

/// One item of a keychain, of the class that GTMAppAuth uses too: a generic password whose service is the item's name.
struct GenericPassword: Sendable {
    /// macOS has two keychains, and what is in one is invisible in the other. Elsewhere there is the first alone.
    enum Location: Sendable, Equatable {
        case dataProtection(accessGroup: String?)
        case fileBased
    }

    let keychain: any Keychain
    let itemName: String
    let account: String
    let location: Location

    /// What finds the item, whatever its accessibility.
    private func query() throws(SessionError) -> KeychainAttributes {
        guard !itemName.isEmpty else { throw .storage("noService") }
        var query: KeychainAttributes = [
            .itemClass: .genericPassword, .account: .text(account), .service: .text(itemName),
        ]
        switch location {
        case .dataProtection(let accessGroup):
            query[.usesDataProtectionKeychain] = .flag(true)
            query[.accessGroup] = accessGroup.map(KeychainValue.text)
        case .fileBased:
            query[.usesDataProtectionKeychain] = .flag(false)
        }
        return query
    }
}

extension GenericPassword: SessionStore {
    /// Nil when there is no such item.
    func load() throws(SessionError) -> Data? {
        var query = try query()
        query[.returnsData] = .flag(true)
        query[.matchLimit] = .one
        let (status, data) = keychain.copyMatching(query)
        if status == .itemNotFound { return nil }
        try check(status, "read")
        guard let data else { throw .storage("unexpectedPasswordData") }
        return data
    }

    /// The item changes in place, so that a crash leaves the old data or the new; it is added where there is none.
    /// Empty data removes it.
    func save(_ data: Data) throws(SessionError) {
        guard !data.isEmpty else { return try remove() }
        let query = try query()
        var values: KeychainAttributes = [.data: .data(data)]
        // The file-based keychain knows access lists instead.
        if location != .fileBased { values[.accessible] = .afterFirstUnlockThisDeviceOnly }

        var status = keychain.update(query, to: values)
        if status == .itemNotFound {
            status = keychain.add(query.merging(values) { _, value in value })
            // An extension of the app has added it in between.
            if status == .duplicateItem { status = keychain.update(query, to: values) }
        }
        try check(status, "write")
    }

    /// Does nothing when there is no such item.
    func remove() throws(SessionError) {
        let status = keychain.delete(try query())
        if status != .itemNotFound { try check(status, "delete") }
    }

    private func check(_ status: KeychainStatus, _ act: String) throws(SessionError) {
        guard status == .success else { throw .storage("keychain \(act): \(status.explanation)") }
    }
}

extension GenericPassword {
    /// Takes what `source` holds: saves it, reads it back, and only then deletes it there. What this item holds already
    /// is newer and stays; then the source is deleted alone, as an interrupted move has left it. A deletion that fails
    /// does not throw: the next call repeats it.
    ///
    /// - Returns: whether this item has now what the source had.
    func move(from source: GenericPassword) throws(SessionError) -> Bool {
        guard source.location != location, let data = try source.load() else { return false }
        let isMissing = try load() == nil
        if isMissing {
            try save(data)
            guard try load() == data else { throw .storage("keychain move: what was saved reads differently") }
        }
        try? source.remove()
        return isMissing
    }
}
