import Accounts
import Testing
import Texts

@testable import WebPages

@Suite struct PageLanguageTests {
    @Test(arguments: Language.allCases)
    func `every error and failure has its text, and no text an exclamation mark`(_ language: Language) {
        let texts = LanguageTexts.embedded(language)
        for error in FormError.allCases { #expect(texts.errors[error.rawValue] != nil, "\(error)") }
        for failure in FailurePage.Failure.allCases {
            #expect(texts.failures["\(failure.rawValue).heading"] != nil, "\(failure)")
            #expect(texts.failures["\(failure.rawValue).advice"] != nil, "\(failure)")
        }
        #expect(texts.errors.count == FormError.allCases.count)
        #expect(texts.failures.count == 2 * FailurePage.Failure.allCases.count)
        let all = Array(texts.pages.values) + Array(texts.errors.values) + Array(texts.failures.values)
        #expect(all.allSatisfy { !$0.contains("!") && !$0.contains("！") })
    }

    @Test func `a date is written as people write it`() {
        let first = Timestamp(seconds: 1_748_736_000)
        let expected: [Language: String] = [
            .en: "June 1, 2025", .de: "1. Juni 2025", .fr: "1er juin 2025", .es: "1 de junio de 2025",
            .ja: "2025年6月1日", .zhHans: "2025年6月1日", .it: "1 giugno 2025", .ptBR: "1º de junho de 2025",
            .nl: "1 juni 2025", .pl: "1 czerwca 2025", .ko: "2025년 6월 1일", .ar: "1 يونيو 2025",
        ]
        for (language, date) in expected { #expect(Localization(.embedded(language)).date(first) == date) }
        let second = first.advanced(bySeconds: 86_400)
        #expect(Localization(.embedded(.fr)).date(second) == "2 juin 2025")
        #expect(Localization(.embedded(.ptBR)).date(second) == "2 de junho de 2025")
    }

    @Test func `the direction follows the language of the text`() throws {
        let page = try #require(PageSamples().pages.first { $0.name == "chooser" }).page
        for language in Language.allCases {
            let document = try HTMLDocument(Pages(theme: .plain).html(page, language: language))
            let direction = language.rawValue == "ar" ? "rtl" : "ltr"
            #expect(document.elements.first?.attributes == ["lang": language.rawValue, "dir": direction])
        }
    }
}
