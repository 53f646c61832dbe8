import Accounts
import Administration
import HTTPServer
import JSON
import Primitives

extension AdminAPI {
    var webhookOperations: [Operation] {
        [
            operation(.get, "/webhooks", .read) { request, _ in
                let range = try request.query { $0.range(WebhookCursor.self) }
                return .list(try await administration.webhooks(after: range.cursor, limit: range.limit))
            },
            operation(.post, "/webhooks/{name}/test", .manage) { request, administrator in
                try request.requireNoMembers()
                let test = try await administration.testWebhook(try request.webhookName(), by: administrator)
                return .json(test)
            },
            operation(.post, "/webhooks/{name}/replay", .manage) { request, administrator in
                let name = try request.webhookName()
                let (start, types) = try request.fields { $0.replay() }
                let count = try await administration.replayWebhook(name, start, types: types, by: administrator)
                return .json(.accepted) { $0.member("events", count) }
            },
            operation(.get, "/webhooks/{name}/failures", .read) { request, _ in
                let range = try request.query { $0.range(AccountEventID.self) }
                let failures = try await administration.webhookFailures(
                    try request.webhookName(), before: range.cursor, limit: range.limit)
                return .list(failures) { $0.members(to: &$1) }
            },
        ]
    }
}

extension WebhookCursor: ListCursor {
    static func at(_ position: String) -> WebhookCursor? {
        let isName = !position.isEmpty && position.utf8.allSatisfy(\.isASCIIAlphanumeric)
        return isName ? WebhookCursor(name: position) : nil
    }

    var position: String { name }
}

extension Request {
    /// What is no name is that of no endpoint.
    fileprivate func webhookName() throws -> String { try parameter("name") { $0 } }
}

extension Fields {
    /// `since` or `eventId`, and `types`.
    fileprivate mutating func replay() -> (ReplayStart, Set<AccountEvent.Kind>?) {
        let since = optionalValue("since") { Timestamp(rfc3339: $0) }
        let event = optionalValue("eventId") { AccountEventID($0) }
        let types = values("types") { AccountEvent.Kind(rawValue: $0) }
        if let types, types.isEmpty { reject("types", .invalid) }
        switch (since, event) {
        case (let time?, nil): return (.since(time), types.map(Set.init))
        case (nil, let id?): return (.event(id), types.map(Set.init))
        case (nil, nil): reject("since", .required)
        case (_?, _?): reject("eventId", .notAllowed)
        }
        return (.since(Timestamp(seconds: 0)), nil)
    }
}
