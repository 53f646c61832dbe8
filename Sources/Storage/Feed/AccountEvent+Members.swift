import Accounts
import JSON

extension AccountEvent.Happening {
    /// The members of the event's `data` beside those that every event has: a JSON object.
    var members: String {
        var writer = JSONWriter()
        writer.object { writer in
            switch self {
            case .accountCreated(let birth):
                writer.member("by", birth.rawValue)
            case .accountDeleted(let cause, let reason), .accountDisabled(let cause, let reason):
                writer.member("by", cause.rawValue)
                writer.member("reason", reason?.rawValue)
            case .accountEnabled(let cause), .passwordChanged(let cause):
                writer.member("by", cause.rawValue)
            case .accountMerged(let account):
                writer.member("into", account.description)
            case .emailChanged(let proof, let cause):
                writer.member("emailProof", proof?.rawValue)
                writer.member("by", cause.rawValue)
            case .identityLinked(let id, let provider, let cause), .identityUnlinked(let id, let provider, let cause):
                writer.member("identityId", id.description)
                writer.member("provider", provider.rawValue)
                writer.member("by", cause.rawValue)
            case .authorizationRevoked(let id, let provider):
                writer.member("identityId", id.description)
                writer.member("provider", provider.rawValue)
            case .sessionRevoked(let ids, let count, let cause):
                writer.member("by", cause.rawValue)
                writer.member("count", count)
                writer.name("sessionIds")
                writer.array { writer in
                    for id in ids { writer.string(id.description) }
                }
            case .clientLinked(let client, let cause), .clientUnlinked(let client, let cause):
                writer.member("clientId", client.text)
                writer.member("by", cause.rawValue)
            }
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}
