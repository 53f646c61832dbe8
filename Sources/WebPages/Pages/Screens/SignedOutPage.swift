/// The person has signed out of the pages.
package struct SignedOutPage: Sendable {
    package let signInLink: String?

    package init(signInLink: String?) {
        self.signInLink = signInLink
    }
}

extension SignedOutPage {
    static let template = """
        <p class="lead">{{text.signedOutLead}}</p>
        {{#signInLink}}
        <a class="button" href="{{{signInLink}}}">{{text.signInAgain}}</a>
        {{/signInLink}}
        """

    func view(in localization: Localization) -> PageView {
        var view = PageView(.signedOut, localization[.signedOutTitle])
        view["signInLink"] = signInLink.map { HTMLText($0) }
        return view
    }
}
