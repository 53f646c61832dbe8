/// An event that is to be sent: what the bodies of `POST /control/…/events` have at both providers.
struct ProviderEvent: Sendable {
    let clientID: String
    let person: String?
    let subject: String?
    let type: String
    /// The time of the event in seconds since 1970; nil for now.
    let time: Int64?
    /// The `jti`; nil for a new one.
    let tokenID: String?
    let overrides: TokenOverrides
    let delivery: DeliveryPlan

    init(_ members: ControlMembers) {
        clientID = members.clientID()
        person = members.optionalText("person")
        subject = members.optionalText("subject")
        type = members.text("type")
        time = members.optionalTime("eventTime")
        tokenID = members.optionalText("jti")
        overrides = members.object("token", TokenOverrides.init) ?? .none
        delivery = DeliveryPlan(members)
    }
}

/// An event that was sent: the answer to the control request.
struct SentEvent: Sendable {
    let token: String
    let tokenID: String
    let deliveries: [EventDelivery]

    var json: JSONObject { ["token": token, "jti": tokenID, "deliveries": deliveries.map(\.json)] }
}
