import JSON

/// An event as a receiver of webhooks got it.
package struct WebhookDelivery: Equatable, Sendable {
    package let id: String
    package let type: String
    package let account: String
    package let sequence: Int64

    package init?(_ request: LoopbackServer.Request) {
        guard let event = try? JSONValue(parsing: request.body), let id = event["id"]?.string,
            let type = event["type"]?.string, let account = event["data"]?["accountId"]?.string,
            let sequence = event["data"]?["sequence"]?.integer
        else { return nil }
        (self.id, self.type, self.account, self.sequence) = (id, type, account, sequence)
    }
}
