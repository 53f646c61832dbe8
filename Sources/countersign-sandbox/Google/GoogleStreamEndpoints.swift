import HTTPTypes
import Hummingbird

/// The RISC API of risc.googleapis.com, which configures the delivery of a project's security events.
struct GoogleStreamEndpoints: Sendable {
    let google: Provider<Google>

    static let deliveryMethod = "https://schemas.openid.net/secevent/risc/delivery-method/push"

    private enum Status: String, CaseIterable {
        case enabled
        case disabled
    }

    func add(to root: RouterGroup<SandboxContext>) {
        root.get(".well-known/risc-configuration") { request, _ in
            Response.json([
                // With the slash at the end, as in the tokens.
                "issuer": google.issuer + "/", "jwks_uri": request.origin + "/google/oauth2/v3/certs",
                "delivery_methods_supported": [Self.deliveryMethod],
            ])
        }
        let group = root.group("v1beta")
        group.post("stream:update") { request, _ in
            try authenticate(request)
            return try await update(request)
        }
        group.get("stream") { request, _ in
            try authenticate(request)
            let configuration = try stream.configuration()
            let delivery: JSONObject = ["delivery_method": Self.deliveryMethod, "url": configuration.url]
            return Response.json(["delivery": delivery, "events_requested": configuration.eventTypes])
        }
        group.post("stream/status:update") { request, _ in
            try authenticate(request)
            let status = try await body(of: request) { members in
                let status = Status(rawValue: members.text("status"))
                if status == nil { members.refuse("status is neither enabled nor disabled.") }
                return status
            }
            try google.accounts.change { state throws(StreamRefusal) in
                try state.registry.stream.enable(status == .enabled)
            }
            return Response.done
        }
        group.get("stream/status") { request, _ in
            try authenticate(request)
            let status = try stream.configuration().isEnabled ? Status.enabled : .disabled
            return Response.json(["status": status.rawValue])
        }
        group.post("stream:verify") { request, _ in
            try authenticate(request)
            return try await verify(request)
        }
    }

    private var stream: GoogleEventStream { google.accounts.registry.stream }

    private func authenticate(_ request: Request) throws(StreamRefusal) {
        let account = try GoogleServiceAccount.account(
            of: request.headers[.authorization], among: stream.accounts, at: google.clock.now)
        guard account.hasRole else { throw .forbidden("The caller does not have permission.") }
    }

    private func update(_ request: Request) async throws -> Response {
        let (url, eventTypes) = try await body(of: request) { members in
            let url = members.object("delivery") { delivery in
                if delivery.text("delivery_method") != Self.deliveryMethod {
                    delivery.refuse("delivery.delivery_method is not the push method.")
                }
                return delivery.text("url")
            }
            if url == nil { members.refuse("delivery is missing.") }
            let eventTypes = members.texts("events_requested") ?? []
            if eventTypes.isEmpty { members.refuse("events_requested is missing.") }
            return (url ?? "", eventTypes)
        }
        guard !clientIDs.isEmpty else { throw StreamRefusal.forbidden("The project has no OAuth client.") }
        try google.accounts.change { state throws(StreamRefusal) in
            try state.registry.stream.configure(url: url, eventTypes: eventTypes)
        }
        return Response.done
    }

    /// Answers first and sends afterwards, as Google does.
    private func verify(_ request: Request) async throws -> Response {
        let text = try await body(of: request) { $0.optionalText("state") }
        let (number, target) = try google.accounts.change { state throws(StreamRefusal) in
            try state.registry.stream.beginVerification(text)
        }
        if let target {
            let clientIDs = clientIDs
            Task {
                let delivery = try? await google.verify(state: text, clientIDs: clientIDs, at: target)
                google.accounts.change { $0.registry.stream.endVerification(number, delivery) }
            }
        }
        return Response.done
    }

    /// The project's clients, which are the audience of a verification.
    private var clientIDs: [String] { google.accounts.registry.clients.filter { !$0.isDeleted }.map(\.id) }

    /// The body as `read` reads it; a refusal is thrown in the form of Google's.
    private func body<Body: Sendable>(of request: Request, _ read: (ControlMembers) -> Body) async throws -> Body {
        guard request.headers[.contentType]?.lowercased().hasPrefix("application/json") == true else {
            throw StreamRefusal.invalid("The body is not application/json.")
        }
        do {
            return try await request.body(read)
        } catch let refusal as ControlRefusal {
            throw StreamRefusal.invalid(refusal.message)
        }
    }
}
