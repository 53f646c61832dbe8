import Accounts
import Testing

@testable import WebPages

@Suite struct PageLanguageTests {
    @Test func `the pages speak six languages`() {
        #expect(PageLanguage.allCases.map(\.rawValue) == ["en", "de", "fr", "es", "ja", "zh-Hans"])
    }

    @Test(
        arguments: [
            ([], [], PageLanguage.english),
            (["de"], ["fr"], .german),
            (["DE-AT"], [], .german),
            ([], ["fr-ca", "en"], .french),
            (["xx", "es-419"], ["fr"], .spanish),
            // One that the pages lack is passed over.
            (["ar"], ["ja-jp"], .japanese),
            (["ar"], [], .english),
            (["zh"], [], .simplifiedChinese),
            (["zh-CN"], [], .simplifiedChinese),
            (["zh-Hans-TW"], [], .simplifiedChinese),
            (["zh-TW"], ["zh-hant-hk"], .english),
            (["den"], [], .english),
            (["", "-", "de-"], [], .german),
        ] as [([String], [String], PageLanguage)])
    func `the first wanted language that there is`(_ ui: [String], _ accept: [String], _ language: PageLanguage) {
        #expect(PageLanguage.choose(uiLocales: ui, acceptLanguage: accept) == language)
    }

    /// A text of a language, and what may stand in it.
    private struct Sentence {
        let name: String
        let text: String
        let placeholders: Set<String>
    }

    private func sentences(of texts: LanguageTexts) -> [Sentence] {
        var sentences: [Sentence] = []
        for text in PageText.allCases {
            sentences.append(
                Sentence(name: "text \(text.rawValue)", text: texts.text(text), placeholders: text.placeholders))
        }
        for error in FormError.allCases {
            sentences.append(
                Sentence(
                    name: "error \(error.rawValue)", text: texts.error(error),
                    placeholders: error == .accountDisabled ? ["service"] : []))
        }
        for failure in FailurePage.Failure.allCases {
            let text = texts.failure(failure)
            sentences.append(Sentence(name: "heading \(failure.rawValue)", text: text.heading, placeholders: []))
            sentences.append(
                Sentence(
                    name: "advice \(failure.rawValue)", text: text.advice,
                    placeholders: failure == .accountDisabled ? ["service"] : []))
        }
        return sentences
    }

    @Test(arguments: PageLanguage.allCases)
    func `every text is there, with its placeholders, and is plain text`(_ language: PageLanguage) {
        let texts = language.texts
        #expect(texts.tag == language.rawValue)
        #expect(texts.months.count == 12)
        for sentence in sentences(of: texts) {
            let (name, text) = (sentence.name, sentence.text)
            #expect(!text.isEmpty && text.first != " " && text.last != " ", "\(name)")
            let placeholders = Set(text.matches(of: /\{\{([a-z]+)\}\}/).map { String($0.1) })
            #expect(placeholders == sentence.placeholders, "\(name): \(text)")
            let words = text.replacing(/\{\{[a-z]+\}\}/, with: "")
            #expect(words.allSatisfy { !"<>&\"{}!！".contains($0) }, "\(name): \(text)")
        }
    }

    @Test func `no text is left in another language`() {
        let english = sentences(of: .english)
        // The same word in both, or nothing but names.
        let common: Set = ["text title", "text errorTitle", "text date", "text code"]
        for language in PageLanguage.allCases.dropFirst() {
            for (sentence, original) in zip(sentences(of: language.texts), english)
            where !common.contains(sentence.name) {
                #expect(sentence.text != original.text, "\(sentence.name) in \(language.rawValue)")
            }
        }
    }

    @Test func `a date is written as people write it`() {
        let first = Timestamp(seconds: 1_748_736_000)
        let written = PageLanguage.allCases.map { Localization($0.texts).date(first) }
        let expected = [
            "June 1, 2025", "1. Juni 2025", "1er juin 2025", "1 de junio de 2025", "2025年6月1日", "2025年6月1日",
        ]
        #expect(written == expected)
    }

    @Test func `the direction follows the language of the text`() throws {
        let page = try #require(PageSamples().pages.first { $0.name == "chooser" }).page
        let document = try HTMLDocument(Pages(theme: .plain).html(page, in: .arabicForTests))
        #expect(document.elements.first?.attributes == ["lang": "ar", "dir": "rtl"])
        #expect(document.all("h1").first?.text == "تسجيل الدخول إلى Lamp")
    }
}

extension Localization {
    /// A language from right to left, which the product lacks: a few texts of its own, the others English.
    static let arabicForTests = Localization(
        LanguageTexts(
            tag: "ar", months: LanguageTexts.english.months,
            text: { text in
                switch text {
                case .signInTitle: "تسجيل الدخول إلى {{app}}"
                case .continueWithApple: "المتابعة باستخدام Apple"
                case .continueWithGoogle: "المتابعة باستخدام Google"
                case .email: "البريد الإلكتروني"
                case .password: "كلمة المرور"
                case .signIn: "تسجيل الدخول"
                case .or: "أو"
                case .cancel: "إلغاء"
                default: LanguageTexts.english.text(text)
                }
            }, error: LanguageTexts.english.error, failure: LanguageTexts.english.failure))
}
