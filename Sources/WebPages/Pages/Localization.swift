import Accounts
import Mustache
import Primitives
import Texts

/// The texts of a language, parsed.
struct Localization: Sendable {
    let language: Language
    /// By ``PageText``'s raw value, as templates name them.
    let templates: [String: MustacheTemplate]
    private let texts: [PageText: MustacheTemplate]
    private let errors: [FormError: MustacheTemplate]
    private let failures: [FailurePage.Failure: (heading: MustacheTemplate, advice: MustacheTemplate)]
    private let months: [String]

    init(_ language: LanguageTexts) {
        // What is missing or can't be parsed is a fault of the files, whatever the configuration says: the first start of
        // any build finds it.
        func parsed(_ text: String?, _ name: String) -> MustacheTemplate {
            guard let text else { fatalError("the pages have no text \(name) in \(language.language.rawValue)") }
            do {
                // The values are HTML already.
                let source = text.replacing("{{", with: "{{{").replacing("}}", with: "}}}")
                return try MustacheTemplate(string: source)
            } catch {
                fatalError("the text \(name) in \(language.language.rawValue) can't be parsed: \(error)")
            }
        }
        let texts = PageText.allCases.map { ($0, parsed(language.pages[$0], $0.rawValue)) }
        self.language = language.language
        self.texts = Dictionary(uniqueKeysWithValues: texts)
        self.templates = Dictionary(uniqueKeysWithValues: texts.map { ($0.0.rawValue, $0.1) })
        self.errors = Dictionary(
            uniqueKeysWithValues: FormError.allCases.map { error in
                (error, parsed(language.errors[error.rawValue], error.rawValue))
            })
        self.failures = Dictionary(
            uniqueKeysWithValues: FailurePage.Failure.allCases.map { failure in
                let (heading, advice) = ("\(failure.rawValue).heading", "\(failure.rawValue).advice")
                return (
                    failure, (parsed(language.failures[heading], heading), parsed(language.failures[advice], advice))
                )
            })
        self.months = language.months
    }

    /// The value of the attribute `dir`.
    var direction: String { language.isRightToLeft ? "rtl" : "ltr" }

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
        let day =
            switch (language, civil.day) {
            // They count the first of a month, and only that.
            case (.fr, 1): "1er"
            case (.ptBR, 1): "1º"
            default: String(civil.day)
            }
        return self[.date].render([
            "day": HTMLText(day), "month": HTMLText(month), "year": HTMLText(String(civil.year)),
        ])
    }
}
