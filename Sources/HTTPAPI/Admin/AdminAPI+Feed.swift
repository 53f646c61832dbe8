import Accounts
import Administration
import HTTPServer
import JSON
import Webhooks

extension AdminAPI {
    var feedOperations: [Operation] {
        [
            operation(.get, "/feed", .feed) { request, reader in
                let answer = try await administration.events(
                    try request.query { $0.feedQuery() }, by: reader, while: request.hasPeer)
                // The key may have been revoked meanwhile.
                if answer.hasWaited { _ = try await administrator(of: request, for: .feed) }
                return .json { writer in
                    writer.objects("items", of: answer.events) { event, writer in event.write(to: &writer) }
                    writer.member("next", answer.next)
                    writer.member("more", answer.hasMore)
                }
            }
        ]
    }
}

extension Fields {
    /// `after`, `types`, `limit` and `wait`.
    fileprivate mutating func feedQuery() -> Feed.Query {
        let after = optionalString("after")
        let types = optionalValue("types", as: AccountEvent.Kind.list) ?? []
        let limit = optionalInteger("limit", in: 1...1000)
        let wait = optionalInteger("wait", in: 0...25)
        return Feed.Query(from: Feed.Start(after), types: types, limit: limit ?? 100, wait: .seconds(wait ?? 0))
    }
}
