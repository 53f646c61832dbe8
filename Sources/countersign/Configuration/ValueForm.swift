import Accounts
import Curl
import Foundation
import Postgres
import Primitives

/// The form of a value: a description of it, and its parser.
struct ValueForm<Value: Sendable>: Sendable {
    /// Completes the sentence "expects …".
    let expectation: String
    /// The substitute for a value that is missing or refused, so that reading goes on and finds the other faults as
    /// well. It takes no effect: with a fault there is no configuration.
    let placeholder: Value
    let parse: @Sendable (RawValue) -> Value?
    /// Whether a value of a secret key really has a secret in it; a URL may have none.
    var holdsSecret: @Sendable (RawValue) -> Bool = { _ in true }
    var namesFile = false
    /// Whether that file is a secret as a whole.
    var namesSecret = false
    /// The value with the relative paths in it counted from a folder.
    var located: @Sendable (_ value: Value, _ folder: String) -> Value = { value, _ in value }
    /// What is wrong with a value that `parse` refuses, where there is more to say than the expectation: never a part
    /// of the value.
    var flaw: @Sendable (RawValue) -> String? = { _ in nil }

    /// The same form, of a value that is read in lower case.
    fileprivate var lowercased: ValueForm {
        var form = ValueForm(expectation: expectation, placeholder: placeholder) { [parse] in parse($0.lowercased) }
        form.flaw = { [flaw] in flaw($0.lowercased) }
        return form
    }
}

extension ValueForm<String> {
    /// A text that is taken as it is, where it is one.
    static func string(_ expectation: String, where isOne: @escaping @Sendable (String) -> Bool) -> ValueForm {
        ValueForm(expectation: expectation, placeholder: "") { raw in raw.text.flatMap { isOne($0) ? $0 : nil } }
    }

    static var text: ValueForm {
        var form = string("a text that is not empty") { text in
            !text.isEmpty && !text.unicodeScalars.contains { $0.value < 0x20 }
        }
        form.flaw = { $0.text.flatMap { $0.isEmpty ? nil : controlFlaw } }
        return form
    }

    private static var controlFlaw: String { "there is a line break or another control character in it" }

    /// A relative path of the configuration file counts from that file's folder, so that the file means the same to the
    /// service, to a command by hand and to a timer. One of a variable counts from where the program is started.
    static var filePath: ValueForm {
        var form = ValueForm(expectation: "a path", placeholder: "", parse: text.parse)
        form.namesFile = true
        form.flaw = { raw in
            raw.text?.contains(where: \.isNewline) == true
                ? "there is a line break in it, as in the content of a file: write where the file is" : nil
        }
        form.located = { path, folder in path.hasPrefix("/") ? path : "\(folder)/\(path)" }
        return form
    }

    /// The path of a file that ``ConfigurationReader/secretFile(_:_:)`` reads.
    static var secretPath: ValueForm {
        var form = filePath
        form.namesSecret = true
        return form
    }

    /// A domain as Google states it.
    static var domain: ValueForm { string("a domain such as example.com", where: \.isDomain).lowercased }

    static var host: ValueForm {
        .string("an IP address or a host name") { text in
            let isName = !text.isEmpty && text.utf8.allSatisfy { $0.isASCIIAlphanumeric || ".-".utf8.contains($0) }
            let isIPv6 = text.contains(":") && text.allSatisfy { $0.isASCII && $0.isHexDigit || ":.".contains($0) }
            return isName || isIPv6
        }
    }

    static var hostAndPort: ValueForm {
        .string("a host name or an IP address (IPv6 in brackets), and a port if one is shown") {
            $0.wholeMatch(of: /([A-Za-z0-9.\-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?/) != nil
        }
    }

    /// A URL, kept byte for byte. User names, fragments and anything that two parsers of URLs read differently are
    /// refused.
    static func url(schemes: [String], allowsQuery: Bool = true) -> ValueForm {
        let names = schemes.map { "\($0):" }.joined(separator: " or ")
        return .string("a URL beginning with \(names), with a host and without fragment") {
            WebAddress($0, schemes: schemes, allowsQuery: allowsQuery) != nil
        }
    }

    /// A connection string of libpq: a URI, or `keyword=value` pairs.
    static var postgresURL: ValueForm {
        var form = string("a postgresql:// URI or libpq's keyword=value form, with libpq's own parameters") {
            connectionFlaw(of: $0) == nil
        }
        form.flaw = { $0.text.flatMap(connectionFlaw) }
        form.holdsSecret = { $0.text.map(Database.Configuration.hasPassword(url:)) ?? true }
        form.located = { Database.Configuration.locatingFiles(of: $0, in: $1) }
        return form
    }

    /// What is wrong with a connection string. Of the names in it only those that libpq knows are shown: any other may be
    /// a part of the password.
    private static func connectionFlaw(of text: String) -> String? {
        guard !text.isEmpty else { return "it is empty" }
        guard text.hasPrefix("postgresql://") || text.hasPrefix("postgres://") || text.contains("=") else {
            return "it is neither"
        }
        switch Database.Configuration.fault(of: text) {
        case .unknownParameter(let name):
            let meant = Database.Configuration.parameters.nearest(to: name)
            return "libpq doesn't know one of its parameters" + (meant.map { "; did you mean \($0)?" } ?? "")
        case .unknownMode:
            return "its sslmode is none of \(Database.Configuration.modes.joined(separator: ", "))"
        case .controlCharacter:
            return controlFlaw
        case .unreadable:
            return "libpq can't read it; in a URI, a password's @, :, /, ? and % are encoded: %40"
        case nil:
            return nil
        }
    }

    /// The URL of a mail server, which may contain user name and password.
    static var smtpURL: ValueForm {
        var form = string(
            """
            an smtp: or smtps: URL with a host, user and password percent-encoded, and nothing behind but the name to \
            greet the server with
            """
        ) { SMTPServer($0) != nil }
        form.holdsSecret = { $0.text.flatMap(URLComponents.init(string:)).map { $0.password != nil } ?? true }
        return form
    }

    static var emailAddress: ValueForm { .string("an email address") { EmailAddress($0) != nil } }

    static var providerURL: ValueForm {
        .string("an https: URL (http: only with a loopback host)", where: WebAddress.isProviderURL)
    }
}

extension ValueForm<Int> {
    static var port: ValueForm { .integer(1...65_535) }

    static func integer(_ range: ClosedRange<Int>, unit: String = "") -> ValueForm {
        let unit = unit.isEmpty ? "" : " \(unit)"
        return ValueForm(
            expectation: "an integer from \(range.lowerBound) to \(range.upperBound)\(unit)",
            placeholder: range.lowerBound
        ) { raw in
            raw.text.flatMap(Int.init).flatMap { range.contains($0) ? $0 : nil }
        }
    }
}

extension ValueForm<Bool> {
    static var boolean: ValueForm {
        ValueForm(expectation: "true or false", placeholder: false) { $0.text.flatMap(Bool.init) }
    }
}

extension ValueForm<[String]> {
    /// A list of texts, none of them empty and none twice unless they `mayRepeat`; the list itself may be empty unless
    /// `minimum` says otherwise.
    static func list(
        of items: String, minimum: Int = 0, mayRepeat: Bool = false,
        where isItem: @escaping @Sendable (String) -> Bool = { _ in true }
    ) -> ValueForm {
        let least = minimum > 0 ? ", at least \(minimum)" : ""
        @Sendable func flaw(_ raw: RawValue) -> String? {
            let list = raw.list
            // By bytes: two spellings that Swift calls equal are two client IDs to everyone else.
            var places: [[UInt8]: Int] = [:]
            for (item, place) in zip(list, 1...) {
                if item.isEmpty { return "item \(place) is empty" }
                let isSound = !item.unicodeScalars.contains { $0.value < 0x20 } && isItem(item)
                if !isSound { return "item \(place) of \(list.count) isn't one" }
                if let first = places.updateValue(place, forKey: Array(item.utf8)), !mayRepeat {
                    return "item \(place) is item \(first) again"
                }
            }
            return list.count < minimum ? "there \(list.count == 1 ? "is" : "are") \(list.count)" : nil
        }
        var form = ValueForm(
            expectation: "a list of \(items)\(least), none empty\(mayRepeat ? "" : " and none twice")", placeholder: []
        ) { flaw($0) == nil ? $0.list : nil }
        form.flaw = flaw
        return form
    }

    static var domains: ValueForm { list(of: "domains such as example.com", where: \.isDomain).lowercased }

    static var clientIDs: ValueForm { .list(of: "client IDs", minimum: 1) }

    static var issuers: ValueForm { .list(of: "issuers", minimum: 1) }
}

extension ValueForm where Value: CaseIterable & RawRepresentable<String> {
    /// One of the raw values of `Value`, which needs at least one case.
    static func choice(placeholder: Value) -> ValueForm {
        let words = Value.allCases.map(\.rawValue).joined(separator: ", ")
        return ValueForm(expectation: "one of: \(words)", placeholder: placeholder) { $0.text.flatMap(Value.init) }
    }
}

extension ValueForm<RateLimit> {
    static var rate: ValueForm {
        ValueForm(
            expectation: "COUNT/DURATION such as 10/15min or 30/h (s, min, h, d), or 0 for no limit", placeholder: .none
        ) { $0.text.flatMap(RateLimit.init) }
    }
}
