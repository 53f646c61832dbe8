import Hummingbird
import JSON

/// The delivery of an event's token: to which address, after which delay, how often.
struct DeliveryPlan: Sendable {
    /// The receiver; nil sends the token nowhere, and the caller posts it.
    let target: LoopbackTarget?
    let count: Int64
    let delay: Duration

    static let memberNames = ["target", "deliveries", "delaySeconds"]

    init(_ members: ControlMembers) throws(ControlRefusal) {
        let url = try members.optionalText("target")
        target = url.flatMap(LoopbackTarget.init)
        guard url == nil || target != nil else {
            throw .invalid(
                "target must be an http: URL of this machine, such as http://127.0.0.1:8080/v1/events/apple.")
        }
        for name in ["deliveries", "delaySeconds"] where url == nil && members.raw(name) != nil {
            throw .invalid("\(name) has no meaning without target.")
        }
        count = try members.integer("deliveries", in: 1...1000) ?? 1
        delay = .seconds(try members.integer("delaySeconds", in: 0...60) ?? 0)
    }

    /// One delivery without a delay.
    init(to target: LoopbackTarget) {
        self.target = target
        count = 1
        delay = .zero
    }

    /// Delivers one after the other and returns the results in order.
    func deliver(_ body: [UInt8], type: String) async throws -> [EventDelivery] {
        guard let target else { return [] }
        if delay > .zero { try await Task.sleep(for: delay) }
        var deliveries: [EventDelivery] = []
        for _ in 0..<count {
            do throws(LoopbackTarget.Failure) {
                deliveries.append(.answered(try await target.post(body, type: type)))
            } catch {
                deliveries.append(.failed(error))
            }
        }
        return deliveries
    }
}

/// The result of one delivery.
enum EventDelivery: Sendable {
    case answered(LoopbackTarget.Answer)
    case failed(LoopbackTarget.Failure)

    func write(_ writer: inout JSONWriter) {
        switch self {
        case .answered(let answer):
            writer.member("status", answer.status)
            if !answer.body.isEmpty { writer.member("body", String(decoding: answer.body, as: UTF8.self)) }
        case .failed(let failure):
            writer.member("failure", failure.rawValue)
        }
    }
}

/// An event that was sent: the answer to the control request.
struct SentEvent: Sendable {
    let token: String
    let tokenID: String?
    let deliveries: [EventDelivery]

    func response() -> Response {
        .json { writer in
            writer.member("token", token)
            writer.member("jti", tokenID)
            writer.objects("deliveries", of: deliveries) { $0.write(&$1) }
        }
    }
}
