import Texts

/// What a browser shows of a link that an app should have opened.
struct FlipPage: WebPage {}

extension FlipPage {
    static let template = """
        <p class="lead">{{text.flipLead}}</p>
        """

    func view(in localization: Localization, _ theme: PageTheme) -> PageView { PageView(localization[.flipTitle]) }
}
