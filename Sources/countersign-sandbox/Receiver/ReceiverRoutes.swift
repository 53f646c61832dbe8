import HTTPTypes
import Hummingbird

/// Where webhooks arrive, a page of what has come, and its controls under `/control/receiver`.
struct ReceiverRoutes: Sendable {
    static let path = "receiver"

    let receiver: WebhookReceiver
    let history: RequestHistory

    func add(to group: Router<SandboxContext>) {
        group.post("\(Self.path)") { request, context in
            var request = request
            let body = try await request.collectBody(upTo: HistoryMiddleware.maximumBytes)
            let headers = request.headers.map { ($0.name.canonicalName, $0.value) }
            let delivery = try receiver.take(headers, Array(body.readableBytesView))
            guard let fault = delivery.fault else { return Response(status: .noContent) }
            if let entry = context.historyEntry { history.note(reason: fault, in: entry) }
            return Response(status: .unauthorized)
        }
        group.get("\(Self.path)") { _, _ in page().response() }
    }

    func addControls(to group: RouterGroup<SandboxContext>) {
        group.get("\(Self.path)") { _, _ in Response.items(receiver.deliveries.map(\.json)) }
        group.post("\(Self.path)") { request, _ in
            receiver.trust(
                try await request.body { members in
                    (members.texts("secrets") ?? []).compactMap { text in
                        let secret = ReceiverSecret(text)
                        if secret == nil { members.refuse("secrets must be of the form whsec_ or whpk_ and base64.") }
                        return secret
                    }
                })
            return Response.done
        }
    }

    private func page() -> BrowserPage {
        let items = receiver.deliveries.reversed().prefix(50).map { delivery -> HTML in
            let headers = delivery.headers.filter { $0.name.hasPrefix("webhook-") }.map { header -> HTML in
                "<br><span class=\"small\">\(header.name): \(header.value)</span>"
            }
            let fault = delivery.fault.map { fault -> HTML in ": \(fault)" }
            return """
                <li class="\(delivery.fault == nil ? "passed" : "failed")">
                <strong>\(delivery.fault == nil ? "Verified" : "Refused")</strong>\(fault), \(Timestamp.text(delivery.time))
                \(Array(headers))
                <br><code>\(String(decoding: delivery.body, as: UTF8.self))</code></li>
                """
        }
        let none: HTML = "<p>Nothing has come yet.</p>"
        return BrowserPage(
            party: "your backend", title: "Webhooks",
            content: """
                \(items.isEmpty ? none : nil)
                <ul class="checks">
                \(Array(items))
                </ul>
                <p class="small">The same as JSON: <code>/control/receiver</code></p>
                """)
    }
}

extension WebhookReceiver.Delivery {
    fileprivate var json: JSONObject {
        [
            "id": id, "time": Timestamp.text(time), "headers": JSONObject.fields(headers),
            "body": String(decoding: body, as: UTF8.self), "isVerified": fault == nil, "fault": fault,
        ]
    }
}
