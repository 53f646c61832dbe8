import HTTPTypes

/// A fault: an effect on the requests to one path.
struct Fault: Sendable {
    enum Effect: Sendable {
        /// Nothing but the delay.
        case none
        /// This response in place of the real one.
        case answer(status: Int, headers: [(name: String, value: String)], body: [UInt8])
        /// A redirect, which a server-to-server client must not follow.
        case redirect(status: Int, location: String)
        /// A body of `bytes` bytes of JSON white space.
        case oversized(bytes: Int)
        /// The real head with the whole length, half of the body, then the connection is closed.
        case truncated
        /// The same, but the connection is reset.
        case resetMidBody
        /// The real response at this rate.
        case slow(bytesPerSecond: Int)
        /// No response for longer than any client waits.
        case hang
        /// The connection is reset.
        case reset
        /// A browser's authorization is answered otherwise; the authorization page applies it.
        case altered(BrowserAlteration)
    }

    /// The wire names of the effects.
    enum Name: String, CaseIterable, Sendable {
        case delay
        case status
        case html
        case redirect
        case oversized
        case truncated
        case resetMidBody = "torn"
        case slow
        case hang
        case reset
        /// A reset after the request was processed; it has its own name because retries must survive this case.
        case lost
        case altered
    }

    let name: Name
    let effect: Effect
    let path: String
    let method: String?
    let delay: Duration
    /// Whether the request is processed as usual and only its response meets the fault. Otherwise the request is not
    /// processed, except where the client gets the real response or a part of it.
    let comesAfterwards: Bool
    /// Requests that it will still hit; nil: all, until it is cleared.
    var remaining: Int?

    static let htmlPage = """
        <!DOCTYPE html>
        <html><head><title>Sorry</title></head><body><h1>We will be back soon.</h1></body></html>

        """

    init(_ members: ControlMembers) throws(ControlRefusal) {
        guard let name = try members.choice("effect", of: Name.self) else { throw .invalid("effect is missing.") }
        self.name = name
        path = try members.text("path")
        guard path.hasPrefix("/"), !path.hasPrefix("/control") else {
            throw .invalid(
                "path must be one outside of /control, such as /apple/auth/keys, or end in * as /google/* does.")
        }
        method = try members.optionalText("method")
        delay = .milliseconds(try members.integer("delayMilliseconds", in: 0...600_000) ?? 0)
        remaining = try members.integer("times", in: 1...1_000_000).map(Int.init)
        comesAfterwards = name == .lost ? true : try members.flag("afterwards")
        effect = try Self.effect(name, members, path: path)
    }

    /// The members that every fault may have.
    private static let common: Set = ["effect", "path", "method", "delayMilliseconds", "times"]

    static let memberNames =
        [
            "effect", "path", "method", "times", "delayMilliseconds", "afterwards", "status", "headers", "body",
            "location", "bytes", "bytesPerSecond",
        ] + BrowserAlteration.memberNames

    private static func effect(
        _ name: Name, _ members: ControlMembers, path: String
    ) throws(ControlRefusal) -> Effect {
        func allowOnly(_ own: String...) throws(ControlRefusal) { try allowOnly(own) }
        func allowOnly(_ own: [String]) throws(ControlRefusal) {
            for member in members.names where !common.contains(member) && !own.contains(member) {
                throw .invalid("\(member) has no meaning for the effect \(name.rawValue).")
            }
        }
        switch name {
        case .delay:
            try allowOnly("afterwards")
            return .none
        case .status:
            try allowOnly("afterwards", "status", "headers", "body")
            guard let status = try members.integer("status", in: 200...599) else {
                throw .invalid("status is missing.")
            }
            let body = try members.optionalText("body") ?? ""
            return .answer(status: Int(status), headers: try headers(members), body: Array(body.utf8))
        case .html:
            try allowOnly("afterwards", "status", "headers", "body")
            let status = try members.integer("status", in: 200...599) ?? 200
            let body = try members.optionalText("body") ?? htmlPage
            let headers = [("Content-Type", "text/html;charset=UTF-8")] + (try headers(members))
            return .answer(status: Int(status), headers: headers, body: Array(body.utf8))
        case .redirect:
            try allowOnly("afterwards", "status", "location")
            let status = try members.integer("status", in: 300...399) ?? 302
            return .redirect(status: Int(status), location: try members.text("location"))
        case .oversized:
            try allowOnly("afterwards", "bytes")
            return .oversized(bytes: Int(try members.integer("bytes", in: 1...1_000_000_000) ?? 1_048_576))
        case .truncated:
            try allowOnly()
            return .truncated
        case .slow:
            try allowOnly("bytesPerSecond")
            return .slow(bytesPerSecond: Int(try members.integer("bytesPerSecond", in: 1...1000) ?? 1))
        case .resetMidBody:
            try allowOnly()
            return .resetMidBody
        case .hang:
            try allowOnly("afterwards")
            return .hang
        case .reset:
            try allowOnly("afterwards")
            return .reset
        case .lost:
            try allowOnly()
            return .reset
        case .altered:
            try allowOnly(BrowserAlteration.memberNames)
            return .altered(try BrowserAlteration(members, path: path))
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
