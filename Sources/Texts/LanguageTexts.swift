/// What a language has to say, on pages and in mails: each text once, with placeholders in double braces. The build has
/// compared them with those of English: none is missing, and none has another placeholder.
package struct LanguageTexts: Sendable {
    package let language: Language
    /// As they stand in a date, from January on.
    package let months: [String]
    package let pages: [PageText: String]
    /// By the name of the error of a form.
    package let errors: [String: String]
    /// By the name of the failure and, behind a point, `heading` or `advice`.
    package let failures: [String: String]
    /// By the kind of the mail and, behind a point, `subject`, `text` or `warning`; and `greeting`.
    package let mails: [String: String]

    /// - Parameter pages: in the order of ``PageText``.
    init(
        language: Language, months: [String], pages: [String], errors: [String: String],
        failures: [String: String], mails: [String: String]
    ) {
        self.language = language
        self.months = months
        self.pages = Dictionary(uniqueKeysWithValues: zip(PageText.allCases, pages))
        self.errors = errors
        self.failures = failures
        self.mails = mails
    }
}
