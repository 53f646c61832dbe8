import Accounts
import Primitives
import Texts

/// The templates of all mails: every kind in every language.
package struct MailTemplates: Sendable {
    /// The values for a template, besides the name of the service.
    struct Values {
        var code: String?
        var minutes: Int64?
        var provider: Provider?
        var clientName: String?
    }

    struct Rendered {
        /// A language tag (RFC 5646).
        let language: String
        let subject: String
        let text: String
        let html: String
    }

    /// The language tags, the default one first.
    package let languages: [String]
    package let serviceName: String
    /// Those that take the place of built-in ones, or are of a language beside those.
    private let own: [String: [Mail.Kind: LocalizedMail]]

    /// The built-in templates.
    package init(serviceName: String) { self.init(serviceName: serviceName, adding: [:]) }

    /// - Parameter own: complete for each language that is not built in.
    init(serviceName: String, adding own: [String: [Mail.Kind: LocalizedMail]]) {
        self.serviceName = serviceName
        self.own = own
        languages = BuiltInMail.languages + own.keys.filter { !BuiltInMail.languages.contains($0) }.sorted()
    }

    /// - Parameter language: one of ``languages``; for any other, which this process may no longer have, the default one is
    ///   used.
    func render(_ kind: Mail.Kind, in language: String, _ values: Values) -> Rendered? {
        let language = languages.contains(language) ? language : languages[0]
        guard
            let mail = own[language]?[kind] ?? Language(rawValue: language).map({ BuiltInMail.localized(kind, in: $0) })
        else { return nil }
        var texts: [MailTemplate.Placeholder: String] = [.service: serviceName]
        texts[.code] = values.code
        texts[.minutes] = values.minutes.map { "\($0)" }
        texts[.provider] = values.provider?.displayName
        texts[.client] = values.clientName
        return Rendered(
            language: language, subject: mail.subject.filled(with: texts), text: mail.text.filled(with: texts),
            html: mail.html.filled(with: texts, escaping: \.escapedForHTML))
    }
}

extension Provider {
    /// The name as the provider's own guidelines write it.
    fileprivate var displayName: String {
        switch self {
        case .apple: "Apple"
        case .google: "Google"
        }
    }
}
