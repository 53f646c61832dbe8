import Mustache
import Texts

/// The hosted pages of a theme: values → bytes. No clock, no I/O; made once, used by every request.
package struct Pages: Sendable {
    /// Every page that there is: the templates of these are parsed at the start.
    static let all: [any WebPage.Type] = [
        ChooserPage.self, PasswordPage.self, EmailCodePage.self, RegisterPage.self, ForgotPage.self, LinkPage.self,
        CreatePage.self, BindPage.self, ConflictPage.self, ConsentPage.self, MissingEmailPage.self, OpenAppPage.self,
        AccountPage.self, NamePage.self, NewPasswordPage.self, AccountQuestionPage.self, UnlinkPage.self,
        DeletePage.self, DeletedPage.self, FlipPage.self, SignedOutPage.self, FailurePage.self,
    ]

    private let theme: PageTheme
    private let styleSheet: PageAsset
    private let library: MustacheLibrary
    private let localizations: [Language: Localization]

    package init(theme: PageTheme) {
        self.theme = theme
        self.styleSheet = PageAsset(name: "pages", kind: .css, bytes: Array(StyleSheet.text(theme).utf8))
        self.library = PageTemplate.library()
        self.localizations = Dictionary(
            uniqueKeysWithValues: Language.allCases.map { ($0, Localization(.embedded($0))) })
    }

    /// The files that the pages load; each may be cached for ever.
    package var assets: [PageAsset] { [styleSheet, theme.logo, theme.appleLogo].compactMap { $0 } }

    /// - Returns: the page as UTF-8, below 30 KiB but for what the values bring.
    func html(_ page: any WebPage, language: Language) -> [UInt8] {
        guard let localization = localizations[language] else {
            fatalError("every language has its texts")
        }
        return html(page, in: localization)
    }

    /// - Parameter localization: any language, also one that isn't built in.
    func html(_ page: any WebPage, in localization: Localization) -> [UInt8] {
        let view = page.view(in: localization, theme)
        var context = view.values
        for (name, text) in view.names {
            context[name] = HTMLText(text).isolated
        }
        context["text"] = localization.templates
        context["lang"] = HTMLText(localization.language.rawValue)
        context["dir"] = HTMLText(localization.direction)
        context["title"] = HTMLText(markup: title(of: view, in: localization))
        context["heading"] = view.heading
        context["content"] = type(of: page).templateName
        context["service"] = HTMLText(theme.name).isolated
        context["styleSheet"] = HTMLText(styleSheet.path)
        context["logo"] = theme.logo.map { HTMLText($0.path) }
        context["help"] = theme.helpURL.map { HTMLText($0) }
        context["privacy"] = theme.privacyURL.map { HTMLText($0) }
        context["terms"] = theme.termsURL.map { HTMLText($0) }
        context["hasFooter"] = theme.helpURL != nil || theme.privacyURL != nil || theme.termsURL != nil
        if let error = view.error {
            context[error.isFault ? "error" : "note"] = ["message": localization.template(error)]
            context["invalid"] = Dictionary(uniqueKeysWithValues: error.fields.map { ($0.rawValue, true) })
        }
        if let focus = view.error?.fields.last ?? view.firstField {
            context["focus"] = [focus.rawValue: true]
        }
        guard let text = library.render(context, withTemplate: PageTemplate.layout) else {
            fatalError("the pages have a layout")
        }
        return Array(text.utf8)
    }

    /// The heading and the service's name, with "Error" first when there is one: it is what a screen reader says first.
    private func title(of view: PageView, in localization: Localization) -> String {
        var names = view.names.mapValues { HTMLText($0) }
        names["service"] = HTMLText(theme.name)
        names["heading"] = HTMLText(markup: view.heading.render(names))
        return localization[view.error?.isFault == true ? .errorTitle : .title].render(names)
    }
}
