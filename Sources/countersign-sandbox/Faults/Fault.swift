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

        /// The members that this effect has beside those of every fault.
        fileprivate var ownMembers: [String] {
            switch self {
            case .delay, .hang, .reset: ["afterwards"]
            case .status, .html: ["afterwards", "status", "headers", "body"]
            case .redirect: ["afterwards", "status", "location"]
            case .oversized: ["afterwards", "bytes"]
            case .truncated, .resetMidBody, .lost: []
            case .slow: ["bytesPerSecond"]
            case .altered: BrowserAlteration.memberNames
            }
        }
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

    init(_ members: ControlMembers) {
        name = members.choice("effect", else: .delay)
        path = members.text("path")
        if !path.hasPrefix("/") || path.hasPrefix("/control") {
            members.refuse(
                "path must be one outside of /control, such as /apple/auth/keys, or end in * as /google/* does.")
        }
        method = members.optionalText("method")
        remaining = members.optionalInteger("times", in: 1...1_000_000).map(Int.init)
        delay = .milliseconds(members.optionalInteger("delayMilliseconds", in: 0...600_000) ?? 0)
        let common: Set = ["effect", "path", "method", "times", "delayMilliseconds"]
        for member in members.names where !common.contains(member) && !name.ownMembers.contains(member) {
            members.refuse("\(member) has no meaning for the effect \(name.rawValue).")
        }
        members.allow(Name.allCases.flatMap(\.ownMembers))
        comesAfterwards = name == .lost || members.flag("afterwards")
        effect = Self.effect(name, members, path: path)
    }

    private static func effect(_ name: Name, _ members: ControlMembers, path: String) -> Effect {
        switch name {
        case .delay: return .none
        case .status, .html:
            let isPage = name == .html
            let statuses: ClosedRange<Int64> = 200...599
            let status =
                isPage
                ? members.optionalInteger("status", in: statuses) ?? 200 : members.integer("status", in: statuses)
            let headers = members.textObject("headers")
            for (name, value) in headers where HTTPField.Name(name) == nil || !HTTPField.isValidValue(value) {
                members.refuse("headers.\(name) is not a header field.")
            }
            let body = members.optionalText("body") ?? (isPage ? htmlPage : "")
            let type = isPage ? [("Content-Type", "text/html;charset=UTF-8")] : []
            return .answer(status: Int(status), headers: type + headers, body: Array(body.utf8))
        case .redirect:
            let status = members.optionalInteger("status", in: 300...399) ?? 302
            return .redirect(status: Int(status), location: members.text("location"))
        case .oversized:
            return .oversized(bytes: Int(members.optionalInteger("bytes", in: 1...1_000_000_000) ?? 1_048_576))
        case .truncated: return .truncated
        case .slow:
            return .slow(bytesPerSecond: Int(members.optionalInteger("bytesPerSecond", in: 1...1000) ?? 1))
        case .resetMidBody: return .resetMidBody
        case .hang: return .hang
        case .reset, .lost: return .reset
        case .altered: return .altered(BrowserAlteration(members, path: path))
        }
    }

    func matches(method: String, path: String) -> Bool {
        if let wanted = self.method, wanted != method { return false }
        if self.path.hasSuffix("*") { return path.hasPrefix(self.path.dropLast()) }
        return self.path == path
    }
}
