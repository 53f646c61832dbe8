import Accounts
import Texts

/// The person is signed out of the pages.
struct SignedOutPage: WebPage {
    let signInLink: String?
    /// The provider by which they had signed in, where that was unlinked; nil where they signed out.
    var unlinked: Provider?
}

extension SignedOutPage {
    static let template = """
        {{#unlinked}}
        <p class="notice" role="status">{{text.unlinkedProvider}}</p>
        <p class="lead">{{text.unlinkedSignsOut}}</p>
        {{/unlinked}}
        {{^unlinked}}
        <p class="lead">{{text.signedOutLead}}</p>
        {{/unlinked}}
        {{#signInLink}}
        <a class="button" href="{{{signInLink}}}">{{text.signInAgain}}</a>
        {{/signInLink}}
        """

    func view(in localization: Localization, _ theme: PageTheme) -> PageView {
        var view = PageView(localization[.signedOutTitle])
        view.names["provider"] = unlinked?.brand
        view["unlinked"] = unlinked != nil
        view["signInLink"] = signInLink.map { HTMLText($0) }
        return view
    }
}
