package import Accounts
import JSON

extension PastEvent {
    /// The most bytes of a line: an event with a hundred sessions has some 4,000.
    package static let longestLine = 65_536

    /// An event as `countersign feed` prints it, and as a webhook's body has it.
    ///
    /// - Returns: `nil` for what is no event of an account.
    package init?(line: [UInt8]) {
        guard let event = try? JSONValue(parsing: line),
            let id = event["id"]?.string.flatMap({ AccountEventID($0) }), let type = event["type"]?.string,
            let time = event["timestamp"]?.string.flatMap({ Timestamp(rfc3339: $0) }), let data = event["data"],
            let account = data["accountId"]?.string.flatMap({ AccountID($0) }),
            let sequence = data["sequence"]?.integer, sequence > 0, let meaning = Meaning(type, data)
        else { return nil }
        self.init(id: id, accountID: account, sequence: sequence, happenedAt: time, meaning: meaning)
    }
}

extension PastEvent.Meaning {
    fileprivate init?(_ type: String, _ data: JSONValue) {
        // A type of a later release changes nothing here.
        guard let kind = AccountEvent.Kind(rawValue: type) else {
            self = .other
            return
        }
        let identity = data["identityId"]?.string.flatMap { IdentityID($0) }
        let client = data["clientId"]?.string.flatMap { OAuthClientID($0) }
        switch kind {
        case .accountCreated: self = .accountCreated
        case .accountDeleted: self = .accountDeleted
        case .accountMerged:
            guard let heir = data["into"]?.string.flatMap({ AccountID($0) }) else { return nil }
            self = .accountMerged(into: heir)
        case .accountDisabled: self = .accountDisabled
        case .accountEnabled: self = .accountEnabled
        case .emailChanged: self = .emailChanged
        case .passwordChanged: self = .passwordChanged
        case .identityLinked: self = .identityLinked
        case .identityUnlinked:
            guard let identity else { return nil }
            self = .identityUnlinked(identity)
        case .authorizationRevoked:
            guard let identity else { return nil }
            self = .authorizationRevoked(identity)
        case .clientLinked, .clientUnlinked:
            guard let client else { return nil }
            self = kind == .clientLinked ? .clientLinked(client) : .clientUnlinked(client)
        case .sessionRevoked:
            guard let count = data["count"]?.integer, let texts = data["sessionIds"]?.elements else { return nil }
            let ids = texts.compactMap { $0.string.flatMap { SessionID($0) } }
            guard ids.count == texts.count else { return nil }
            self = .sessionsEnded(ids, areAll: ids.count == Int(clamping: count))
        }
    }
}
