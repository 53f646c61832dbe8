extension Language {
    /// The default one.
    package static let english = Language.en

    /// The first language that is wanted and is one of ours: by its first subtag, so that `de-at` finds `de`, `pt` finds
    /// `pt-BR` and `zh-TW` finds `zh-Hans`. One that is not there is passed over.
    ///
    /// - Parameters:
    ///   - uiLocales: the tags that the app or client names (`ui_locales`, `user_locale`), best first.
    ///   - acceptLanguage: the tags of the browser, best first.
    package static func choose(uiLocales: [String], acceptLanguage: [String]) -> Language {
        (uiLocales + acceptLanguage).prefix(maximumTags).lazy.compactMap { Language(matching: $0) }.first ?? .english
    }

    private static let maximumTags = 32

    /// The language of a tag, whatever its script and region.
    package init?(matching tag: String) {
        let wanted = Language.first(of: tag)
        guard let language = Language.allCases.first(where: { Language.first(of: $0.rawValue) == wanted }) else {
            return nil
        }
        self = language
    }

    /// Whether it is written from right to left.
    package var isRightToLeft: Bool { ["ar", "fa", "he", "ur"].contains(Language.first(of: rawValue)) }

    private static func first(of tag: String) -> String { String(tag.prefix { $0 != "-" }).lowercased() }
}
