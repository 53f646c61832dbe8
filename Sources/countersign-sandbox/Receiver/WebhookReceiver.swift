import Synchronization

/// A receiver of webhooks: what has come, and whether it could be believed.
final class WebhookReceiver: Sendable {
    /// How far the time of a delivery may be from the sandbox's, in seconds: as the official libraries have it.
    static let tolerance: Int64 = 300

    struct Delivery: Sendable {
        let id: Int64
        /// By the sandbox's clock, seconds.
        let time: Int64
        let headers: [(name: String, value: String)]
        let body: [UInt8]
        /// Why it was refused; nil when the signature is right.
        let fault: String?
    }

    private struct State {
        var secrets: [ReceiverSecret] = []
        var deliveries: [Delivery] = []
        var lastID: Int64 = 0
    }

    /// Deliveries that are kept.
    private static let capacity = 1000

    private let state = Mutex(State())
    private let clock: SandboxClock

    init(clock: SandboxClock) { self.clock = clock }

    var deliveries: [Delivery] { state.withLock { $0.deliveries } }

    func reset() { state.withLock { $0 = State() } }

    func trust(_ secrets: [ReceiverSecret]) { state.withLock { $0.secrets = secrets } }

    func take(_ headers: [(name: String, value: String)], _ body: [UInt8]) throws -> Delivery {
        let fault = try fault(headers, body)
        return state.withLock { state in
            state.lastID += 1
            let delivery = Delivery(id: state.lastID, time: clock.now, headers: headers, body: body, fault: fault)
            state.deliveries.append(delivery)
            if state.deliveries.count > Self.capacity { state.deliveries.removeFirst(Self.capacity / 10) }
            return delivery
        }
    }

    private func fault(_ headers: [(name: String, value: String)], _ body: [UInt8]) throws -> String? {
        func header(_ name: String) -> String? { headers.first { $0.name.lowercased() == name }?.value }
        guard let id = header("webhook-id"), let timestamp = header("webhook-timestamp"),
            let signatures = header("webhook-signature")
        else { return "webhook-id, webhook-timestamp or webhook-signature is missing" }
        guard let time = Int64(timestamp), (clock.now - Self.tolerance...clock.now + Self.tolerance).contains(time)
        else { return "webhook-timestamp is more than \(Self.tolerance) seconds from now" }
        let secrets = state.withLock { $0.secrets }
        guard !secrets.isEmpty else { return "no secret is set; POST /control/receiver sets them" }
        let text = Array("\(id).\(timestamp).".utf8) + body
        let isSigned = try secrets.contains { try $0.accepts(signatures, of: text) }
        return isSigned ? nil : "no signature is by one of the secrets"
    }
}
