import Accounts

/// A text with places for values: `Your code is {{code}}.`
struct MailTemplate: Sendable {
    enum Placeholder: String, CaseIterable, Sendable {
        case code
        /// For how many minutes the code is good.
        case minutes
        case service
        case provider
    }

    struct Fault: Error {
        let sentence: String
    }

    private enum Segment {
        case text(String)
        case value(Placeholder)
    }

    private let segments: [Segment]

    /// - Parameter allowed: what a mail of this kind has values for.
    init(_ text: String, allowed: Set<Placeholder>) throws(Fault) {
        var segments: [Segment] = []
        var rest = Array(text.utf8)[...]
        while let newSession = rest.firstRange(of: Array("{{".utf8)) {
            guard let closing = rest[newSession.upperBound...].firstRange(of: Array("}}".utf8)) else {
                throw Fault(sentence: "has {{ without }} after it")
            }
            let name = String(decoding: rest[newSession.upperBound..<closing.lowerBound], as: UTF8.self)
            guard let placeholder = Placeholder(rawValue: name), allowed.contains(placeholder) else {
                let known = Placeholder.allCases.filter(allowed.contains).map { "{{\($0.rawValue)}}" }
                throw Fault(
                    sentence: "has a placeholder that it can't have; there are \(known.joined(separator: ", "))")
            }
            segments.append(.text(String(decoding: rest[..<newSession.lowerBound], as: UTF8.self)))
            segments.append(.value(placeholder))
            rest = rest[closing.upperBound...]
        }
        segments.append(.text(String(decoding: rest, as: UTF8.self)))
        self.segments = segments
    }

    /// In one pass: a value that looks like a placeholder stays what it is.
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

    /// For text and for attributes in quotes.
    static func escapedForHTML(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "'": escaped += "&#39;"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}

/// One mail in one language.
struct LocalizedMail: Sendable {
    let subject: MailTemplate
    let text: MailTemplate
    let html: MailTemplate
}

extension Mail.Kind {
    /// What the code that it carries is good for; `nil` for a notice.
    var purpose: EmailCodePurpose? {
        EmailCodePurpose.allCases.first { Mail.Kind(code: $0) == self }
    }

    var placeholders: Set<MailTemplate.Placeholder> {
        switch self {
        case .signInCode, .bindCode, .verifyEmailCode, .resetPasswordCode: [.service, .code, .minutes]
        case .identityLinked, .identityUnlinked, .identityReplaced: [.service, .provider]
        case .passwordChanged, .emailChangeRequested, .emailChanged: [.service]
        }
    }
}
