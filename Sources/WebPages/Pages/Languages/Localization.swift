import Accounts
import Mustache
import Primitives

/// The texts of a language, parsed.
struct Localization: Sendable {
    let tag: String
    /// By ``PageText``'s raw value, as templates name them.
    let templates: [String: MustacheTemplate]
    private let texts: [PageText: MustacheTemplate]
    private let errors: [FormError: MustacheTemplate]
    private let failures: [FailurePage.Failure: (heading: MustacheTemplate, advice: MustacheTemplate)]
    private let months: [String]

    init(_ language: LanguageTexts) {
        func parsed(_ text: String) -> MustacheTemplate {
            do {
                // The values are HTML already.
                let source = text.replacing("{{", with: "{{{").replacing("}}", with: "}}}")
                return try MustacheTemplate(string: source)
            } catch {
                // A fault of this source, whatever the configuration says: the first start of any build finds it.
                fatalError("a text of the pages in \(language.tag) can't be parsed: \(error)")
            }
        }
        let texts = PageText.allCases.map { ($0, parsed(language.text($0))) }
        self.tag = language.tag
        self.texts = Dictionary(uniqueKeysWithValues: texts)
        self.templates = Dictionary(uniqueKeysWithValues: texts.map { ($0.0.rawValue, $0.1) })
        self.errors = Dictionary(uniqueKeysWithValues: FormError.allCases.map { ($0, parsed(language.error($0))) })
        self.failures = Dictionary(
            uniqueKeysWithValues: FailurePage.Failure.allCases.map { failure in
                let text = language.failure(failure)
                return (failure, (parsed(text.heading), parsed(text.advice)))
            })
        self.months = language.months
    }

    /// The value of the attribute `dir`, by the script that the language is usually written in.
    var direction: String {
        let subtags = tag.lowercased().split(separator: "-")
        guard let language = subtags.first, !subtags.contains("latn") else { return "ltr" }
        return Localization.rightToLeft.contains(String(language)) ? "rtl" : "ltr"
    }

    private static let rightToLeft: Set = ["ar", "arc", "ckb", "dv", "fa", "he", "ps", "sd", "ug", "ur", "yi"]

    subscript(text: PageText) -> MustacheTemplate {
        guard let template = texts[text] else { fatalError("every text is parsed") }
        return template
    }

    func template(_ error: FormError) -> MustacheTemplate {
        guard let template = errors[error] else { fatalError("every error is parsed") }
        return template
    }

    func templates(_ failure: FailurePage.Failure) -> (heading: MustacheTemplate, advice: MustacheTemplate) {
        guard let templates = failures[failure] else { fatalError("every failure is parsed") }
        return templates
    }

    /// The day in UTC.
    func date(_ time: Timestamp) -> String {
        let civil = CivilTime(secondsSince1970: time.seconds)
        let month = months.indices.contains(civil.month - 1) ? months[civil.month - 1] : String(civil.month)
        // French counts the first of a month, and only that.
        let day = tag == "fr" && civil.day == 1 ? "1er" : String(civil.day)
        return self[.date].render([
            "day": HTMLText(day), "month": HTMLText(month), "year": HTMLText(String(civil.year)),
        ])
    }
}
