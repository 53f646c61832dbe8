import Testing

@testable import Texts

@Suite struct LanguageTests {
    @Test func `there are twelve, one of them written from right to left`() {
        #expect(
            Language.allCases.map(\.rawValue)
                == ["en", "ar", "de", "es", "fr", "it", "ja", "ko", "nl", "pl", "pt-BR", "zh-Hans"])
        #expect(Language.allCases.filter(\.isRightToLeft) == [.ar])
    }

    @Test(
        arguments: [
            ([], [], .en),
            (["de"], ["fr"], .de),
            (["DE-AT"], [], .de),
            ([], ["fr-ca", "en"], .fr),
            (["xx", "es-419"], ["fr"], .es),
            // One that is not there is passed over.
            (["tlh"], ["ja-jp"], .ja),
            (["tlh"], [], .en),
            (["pt"], ["de"], .ptBR),
            (["pt-PT"], [], .ptBR),
            (["ar-EG"], [], .ar),
            (["zh"], [], .zhHans),
            (["zh-CN"], [], .zhHans),
            (["zh-TW"], ["de"], .zhHans),
            (["den"], [], .en),
            (["", "-", "de-"], [], .de),
        ] as [([String], [String], Language)])
    func `the first wanted language that there is`(_ ui: [String], _ accept: [String], _ language: Language) {
        #expect(Language.choose(uiLocales: ui, acceptLanguage: accept) == language)
    }

    /// One to ten are left when the mail leaves. A noun would be in another form for one, for two and from three on; the
    /// short form of CLDR has none.
    @Test func `Arabic mails count a code's minutes in a form that any number takes`() {
        let texts = LanguageTexts.embedded(.ar)
        let counted = texts.mails.values.filter { $0.contains("{{minutes}}") }
        #expect(counted.count == 5 && counted.allSatisfy { $0.contains("{{minutes}} د.") })
        #expect(texts.pages[.codeLife]?.contains("10 دقائق") == true)
    }

    @Test(arguments: Language.allCases)
    func `a language has all texts, and no other's`(_ language: Language) {
        let texts = LanguageTexts.embedded(language)
        let english = LanguageTexts.embedded(.en)
        #expect(texts.language == language)
        #expect(texts.months.count == 12)
        #expect(texts.pages.count == PageText.allCases.count)
        #expect(Set(texts.mails.keys) == Set(english.mails.keys))
        let said = Array(texts.pages.values) + [texts.errors, texts.failures, texts.mails].flatMap { $0.values }
        #expect(said.allSatisfy { !$0.contains("'") }, "an apostrophe is ’")
        guard language != .en else { return }
        // The same word in both, or nothing but names; a sentence never.
        let same = texts.pages.filter { english.pages[$0.key] == $0.value }.keys
        #expect(same.count < 8, "\(same)")
        for (key, text) in texts.mails { #expect(text != english.mails[key], "\(key)") }
        for (key, text) in texts.errors { #expect(text != english.errors[key], "\(key)") }
    }
}
