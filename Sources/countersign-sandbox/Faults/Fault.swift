import HTTPTypes

/// What shall go wrong with the requests to one path.
struct Fault: Sendable {
    enum Effect: Sendable {
        /// Nothing but the delay.
        case none
        /// This answer in place of the real one.
        case answer(status: Int, headers: [(name: String, value: String)], body: [UInt8])
        /// A redirect, which a server-to-server client must not follow.
        case redirect(status: Int, location: String)
        /// A body of so many bytes of JSON white space.
        case oversized(bytes: Int)
        /// The real head with the whole length, half of the body, then the end of the connection.
        case truncated
        /// The same, but ended by a reset.
        case torn
        /// The real answer, so many bytes a second.
        case slow(bytesPerSecond: Int)
        /// No answer, for as long as a client may wait.
        case hang
        /// The connection is reset.
        case reset
    }

    /// The wire names of the effects.
    enum Name: String, CaseIterable, Sendable {
        case delay
        case status
        case html
        case redirect
        case oversized
        case truncated
        case torn
        case slow
        case hang
        case reset
        /// A reset that comes afterwards, under a name of its own because so much depends on it.
        case lost
    }

    let name: Name
    let effect: Effect
    let path: String
    let method: String?
    let delay: Duration
    /// The request is done as ever, and only its answer meets the fault. Without this nothing is done, except where the
    /// client gets the real answer or a part of it.
    let comesAfterwards: Bool
    /// Requests that it will still hit; nil until cleared.
    var remaining: Int?

    static let page = """
        <!DOCTYPE html>
        <html><head><title>Sorry</title></head><body><h1>We will be back soon.</h1></body></html>

        """

    init(_ members: ControlMembers) throws(ControlRefusal) {
        guard let name = try members.choice("effect", of: Name.self) else { throw .invalid("effect is missing.") }
        self.name = name
        path = try members.text("path")
        guard path.hasPrefix("/"), !path.hasPrefix("/control") else {
            throw .invalid(
                "path must be one of the provider side, such as /apple/auth/keys, or end in * as /google/* does.")
        }
        method = try members.optionalText("method")
        delay = .milliseconds(try members.integer("delayMilliseconds", in: 0...600_000) ?? 0)
        remaining = try members.integer("times", in: 1...1_000_000).map(Int.init)
        comesAfterwards = name == .lost ? true : try members.flag("afterwards")
        effect = try Self.effect(name, members)
    }

    /// The members that every fault may have.
    private static let common: Set = ["effect", "path", "method", "delayMilliseconds", "times"]

    static let memberNames = [
        "effect", "path", "method", "times", "delayMilliseconds", "afterwards", "status", "headers", "body", "location",
        "bytes", "bytesPerSecond",
    ]

    private static func effect(_ name: Name, _ members: ControlMembers) throws(ControlRefusal) -> Effect {
        func only(_ own: String...) throws(ControlRefusal) {
            for member in members.names where !common.contains(member) && !own.contains(member) {
                throw .invalid("\(member) has no meaning for the effect \(name.rawValue).")
            }
        }
        switch name {
        case .delay:
            try only("afterwards")
            return .none
        case .status:
            try only("afterwards", "status", "headers", "body")
            guard let status = try members.integer("status", in: 200...599) else {
                throw .invalid("status is missing.")
            }
            let body = try members.optionalText("body") ?? ""
            return .answer(status: Int(status), headers: try headers(members), body: Array(body.utf8))
        case .html:
            try only("afterwards", "status", "headers", "body")
            let status = try members.integer("status", in: 200...599) ?? 200
            let body = try members.optionalText("body") ?? page
            let headers = [("Content-Type", "text/html;charset=UTF-8")] + (try headers(members))
            return .answer(status: Int(status), headers: headers, body: Array(body.utf8))
        case .redirect:
            try only("afterwards", "status", "location")
            let status = try members.integer("status", in: 300...399) ?? 302
            return .redirect(status: Int(status), location: try members.text("location"))
        case .oversized:
            try only("afterwards", "bytes")
            return .oversized(bytes: Int(try members.integer("bytes", in: 1...1_000_000_000) ?? 1_048_576))
        case .truncated:
            try only()
            return .truncated
        case .slow:
            try only("bytesPerSecond")
            return .slow(bytesPerSecond: Int(try members.integer("bytesPerSecond", in: 1...1000) ?? 1))
        case .torn:
            try only()
            return .torn
        case .hang:
            try only("afterwards")
            return .hang
        case .reset:
            try only("afterwards")
            return .reset
        case .lost:
            try only()
            return .reset
        }
    }

    private static func headers(
        _ members: ControlMembers
    ) throws(ControlRefusal) -> [(name: String, value: String)] {
        let headers = try members.textObject("headers")
        for (name, value) in headers {
            guard HTTPField.Name(name) != nil, HTTPField.isValidValue(value) else {
                throw .invalid("headers.\(name) is not a header field.")
            }
        }
        return headers
    }

    func matches(method: String, path: String) -> Bool {
        if let wanted = self.method, wanted != method { return false }
        if self.path.hasSuffix("*") { return path.hasPrefix(self.path.dropLast()) }
        return self.path == path
    }
}
