import Accounts

/// A text with placeholders for values: `Your code is {{code}}.`
struct MailTemplate: Sendable {
    enum Placeholder: String, CaseIterable, Sendable {
        case code
        /// The minutes for which the code is good.
        case minutes
        case service
        case provider
        /// The name of the client that the mail is about.
        case client
    }

    struct Fault: Error {
        let sentence: String
    }

    private enum Segment {
        case text(String)
        case value(Placeholder)
    }

    private let segments: [Segment]

    /// - Parameter allowed: the placeholders that a mail of this kind has values for.
    init(_ text: String, allowed: Set<Placeholder>) throws(Fault) {
        var segments: [Segment] = []
        var rest = Array(text.utf8)[...]
        while let opening = rest.firstRange(of: Array("{{".utf8)) {
            guard let closing = rest[opening.upperBound...].firstRange(of: Array("}}".utf8)) else {
                throw Fault(sentence: "has {{ without }} after it")
            }
            let name = String(decoding: rest[opening.upperBound..<closing.lowerBound], as: UTF8.self)
            guard let placeholder = Placeholder(rawValue: name), allowed.contains(placeholder) else {
                let known = Placeholder.allCases.filter(allowed.contains).map { "{{\($0.rawValue)}}" }
                throw Fault(
                    sentence: "has a placeholder that it can't have; there are \(known.joined(separator: ", "))")
            }
            segments.append(.text(String(decoding: rest[..<opening.lowerBound], as: UTF8.self)))
            segments.append(.value(placeholder))
            rest = rest[closing.upperBound...]
        }
        segments.append(.text(String(decoding: rest, as: UTF8.self)))
        self.segments = segments
    }

    /// The text with these values, filled in one pass: a value that looks like a placeholder stays what it is.
    func filled(with values: [Placeholder: String], escaping: (String) -> String = { $0 }) -> String {
        segments.map { segment in
            switch segment {
            case .text(let text): text
            case .value(let placeholder): escaping(values[placeholder] ?? "")
            }
        }.joined()
    }

    func contains(_ placeholder: Placeholder) -> Bool {
        segments.contains { segment in
            if case .value(placeholder) = segment { true } else { false }
        }
    }
}

/// One mail in one language.
struct LocalizedMail: Sendable {
    let subject: MailTemplate
    let text: MailTemplate
    let html: MailTemplate
}

extension Mail.Kind {
    /// The purpose of the code that the mail carries; `nil` for a notice.
    var purpose: EmailCodePurpose? { EmailCodePurpose.allCases.first { Mail.Kind(code: $0) == self } }

    var placeholders: Set<MailTemplate.Placeholder> {
        switch self {
        case .signInCode, .bindCode, .verifyEmailCode, .resetPasswordCode, .registerCode: [.service, .code, .minutes]
        case .clientLinked, .clientUnlinked: [.service, .client]
        case .identityLinked, .identityUnlinked, .identityReplaced, .accountCreated, .signedIn: [.service, .provider]
        case .passwordChanged, .emailChangeRequested, .emailChanged, .emailReplacementRequested, .emailTaken,
            .resetBySignIn, .registerTaken:
            [.service]
        }
    }
}
