package import Accounts

extension TokenMint.Members {
    /// A copy in which these members are different, or gone.
    package func with(_ changes: [(String, TokenMint.Literal?)]) -> Self {
        changes.reduce(self) { $0.with($1.0, $1.1) }
    }

    /// The claims of a provider's token for an app about a person, issued at that time.
    package static func identity(_ provider: Provider, to client: String, of subject: String, at time: Int64) -> Self {
        let (issuer, lifetime): (String, Int64) =
            provider == .apple ? ("https://appleid.apple.com", 86_400) : ("https://accounts.google.com", 3_600)
        return [
            "iss": .string(issuer), "aud": .string(client), "sub": .string(subject), "iat": .integer(time),
            "exp": .integer(time + lifetime),
        ]
    }

    /// The claims of Apple's notification of an event of that time.
    package static func appleEvent(
        _ type: String, to client: String, of subject: String?, at time: Int64, issuedAt: Int64, id: String
    ) -> Self {
        var event: Self = ["type": .string(type), "event_time": .integer(time * 1_000)]
        event["sub"] = subject.map { .string($0) }
        return [
            "iss": "https://appleid.apple.com", "aud": .string(client), "iat": .integer(issuedAt),
            "jti": .string(id), "events": .string(event.text),
        ]
    }

    /// Whom an event of Google's is about.
    package static func googlePerson(_ subject: String) -> Self {
        ["subject_type": "iss-sub", "iss": "https://accounts.google.com/", "sub": .string(subject)]
    }

    /// The claims of a security event token of Google's, of that time.
    ///
    /// - Parameter members: the event's, beside its subject.
    package static func googleEvent(
        _ type: String, to client: String, about subject: Self?, at time: Int64, id: String,
        members: [(String, String)] = []
    ) -> Self {
        var event: Self = [:]
        event["subject"] = subject.map { .raw($0.text) }
        for (name, value) in members { event[name] = .string(value) }
        var events: Self = [:]
        events[type] = .raw(event.text)
        return [
            "iss": "https://accounts.google.com/", "aud": .string(client), "iat": .integer(time), "jti": .string(id),
            "events": .raw(events.text),
        ]
    }
}
