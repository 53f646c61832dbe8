/// The delivery of an event's token: to which address, after which delay, how often.
struct DeliveryPlan: Sendable {
    /// The receiver; nil sends the token nowhere, and the caller posts it.
    let target: LoopbackTarget?
    let count: Int64
    let delay: Duration

    init(_ members: ControlMembers) {
        let url = members.optionalText("target")
        target = url.flatMap(LoopbackTarget.init)
        if url != nil, target == nil {
            members.refuse(
                "target must be an http: URL of this machine, such as http://127.0.0.1:8080/v1/events/apple.")
        }
        for name in ["deliveries", "delaySeconds"] where url == nil && members.raw(name) != nil {
            members.refuse("\(name) has no meaning without target.")
        }
        count = members.optionalInteger("deliveries", in: 1...1000) ?? 1
        delay = .seconds(members.optionalInteger("delaySeconds", in: 0...60) ?? 0)
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

    var json: JSONObject {
        switch self {
        case .answered(let answer):
            ["status": answer.status, "body": answer.body.isEmpty ? nil : String(decoding: answer.body, as: UTF8.self)]
        case .failed(let failure): ["failure": failure.rawValue]
        }
    }
}
