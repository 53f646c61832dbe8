import HTTPTypes
import Hummingbird
import JSON

/// The RISC API of risc.googleapis.com, which configures the delivery of a project's security events.
struct GoogleStreamEndpoints: Sendable {
    let stream: GoogleEventStream
    let accounts: GoogleAccounts
    let notifier: GoogleNotifier
    let clock: SandboxClock

    static let deliveryMethod = "https://schemas.openid.net/secevent/risc/delivery-method/push"

    func add(to group: RouterGroup<SandboxContext>) {
        group.post("stream:update") { request, _ in
            try authenticate(request)
            return try await update(request)
        }
        group.get("stream") { request, _ in
            try authenticate(request)
            let configuration = try stream.configuration()
            return Response.json { write(configuration, &$0) }
        }
        group.post("stream/status:update") { request, _ in
            try authenticate(request)
            let members = try await members(of: request, ["status"])
            try stream.enable(refusing { () throws(ControlRefusal) in try Self.isEnabled(members) })
            return Response.done
        }
        group.get("stream/status") { request, _ in
            try authenticate(request)
            let isEnabled = try stream.configuration().isEnabled
            return Response.json { writer in
                writer.member("status", isEnabled ? "enabled" : "disabled")
            }
        }
        group.post("stream:verify") { request, _ in
            try authenticate(request)
            return try await verify(request)
        }
    }

    private func authenticate(_ request: Request) throws(StreamRefusal) {
        let account = try GoogleServiceAccount.account(
            of: request.headers[.authorization], among: stream.accounts, at: clock.now)
        guard account.hasRole else { throw .forbidden("The caller does not have permission.") }
    }

    private func update(_ request: Request) async throws -> Response {
        let members = try await members(of: request, ["delivery", "events_requested"])
        let (url, eventTypes) = try refusing { () throws(ControlRefusal) in
            guard let delivery = try members.object("delivery", allowed: ["delivery_method", "url"]) else {
                throw .invalid("delivery is missing.")
            }
            guard try delivery.text("delivery_method") == Self.deliveryMethod else {
                throw .invalid("delivery.delivery_method is not the push method.")
            }
            let eventTypes = try members.texts("events_requested")
            guard !eventTypes.isEmpty else { throw .invalid("events_requested is missing.") }
            return (try delivery.text("url"), eventTypes)
        }
        guard !clientIDs.isEmpty else { throw StreamRefusal.forbidden("The project has no OAuth client.") }
        try stream.configure(url: url, eventTypes: eventTypes)
        return Response.done
    }

    /// Answers first and sends afterwards, as Google does.
    private func verify(_ request: Request) async throws -> Response {
        let members = try await members(of: request, ["state"])
        let text = try refusing { () throws(ControlRefusal) in try members.optionalText("state") }
        let (number, target) = try stream.beginVerification(text)
        if let target {
            let clientIDs = clientIDs
            Task {
                let delivery = try? await notifier.verify(state: text, clientIDs: clientIDs, at: target)
                stream.endVerification(number, delivery)
            }
        }
        return Response.done
    }

    /// The project's clients, which are the audience of a verification.
    private var clientIDs: [String] { accounts.clients.filter { !$0.isDeleted }.map(\.id) }

    private static func isEnabled(_ members: ControlMembers) throws(ControlRefusal) -> Bool {
        switch try members.text("status") {
        case "enabled": true
        case "disabled": false
        default: throw .invalid("status is neither enabled nor disabled.")
        }
    }

    private func write(_ configuration: GoogleEventStream.Configuration, _ writer: inout JSONWriter) {
        writer.object("delivery") { writer in
            writer.member("delivery_method", Self.deliveryMethod)
            writer.member("url", configuration.url)
        }
        writer.member("events_requested", configuration.eventTypes)
    }

    // MARK: Bodies

    private func members(of request: Request, _ allowed: [String]) async throws -> ControlMembers {
        guard request.headers[.contentType]?.lowercased().hasPrefix("application/json") == true else {
            throw StreamRefusal.invalid("The body is not application/json.")
        }
        do {
            return try await request.members(allowed)
        } catch let refusal as ControlRefusal {
            throw StreamRefusal.invalid(refusal.message)
        }
    }

    /// Runs `body`; a refusal is thrown in the form of Google's.
    private func refusing<Value>(_ body: () throws(ControlRefusal) -> Value) throws(StreamRefusal) -> Value {
        do {
            return try body()
        } catch {
            throw .invalid(error.message)
        }
    }
}
