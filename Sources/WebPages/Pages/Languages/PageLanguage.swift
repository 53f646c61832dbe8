/// The languages of the pages, the default one first; the raw value is the tag (BCP 47).
package enum PageLanguage: String, CaseIterable, Sendable {
    case english = "en"
    case german = "de"
    case french = "fr"
    case spanish = "es"
    case japanese = "ja"
    case simplifiedChinese = "zh-Hans"

    /// The first language that is wanted and is one of ours, by the lookup of RFC 4647 §3.4: `de-at` finds `de`.
    /// A language that the pages lack, as `ar`, is passed over; `lang` and `dir` are always those of the text.
    ///
    /// - Parameters:
    ///   - uiLocales: the tags that the app or client names (`ui_locales`, `user_locale`), best first.
    ///   - acceptLanguage: the tags of the browser, best first (``AcceptLanguage/tags(_:)``).
    package static func choose(uiLocales: [String], acceptLanguage: [String]) -> PageLanguage {
        for wanted in (uiLocales + acceptLanguage).prefix(maximumTags) {
            if let language = language(of: wanted) { return language }
        }
        return .english
    }

    private static let maximumTags = 32

    private static func language(of tag: String) -> PageLanguage? {
        let subtags = tag.lowercased().split(separator: "-", omittingEmptySubsequences: false)
        guard let first = subtags.first else { return nil }
        // The script decides on Chinese: a region stands for the script in use there, none for the more common one.
        if first == "zh" {
            let isTraditional = subtags.dropFirst().contains { ["hant", "tw", "hk", "mo"].contains($0) }
            return !isTraditional || subtags.contains("hans") ? .simplifiedChinese : nil
        }
        return allCases.first { $0.rawValue == first }
    }

    var texts: LanguageTexts {
        switch self {
        case .english: .english
        case .german: .german
        case .french: .french
        case .spanish: .spanish
        case .japanese: .japanese
        case .simplifiedChinese: .simplifiedChinese
        }
    }
}
