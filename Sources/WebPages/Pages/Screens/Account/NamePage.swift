import Texts

/// The name of the account.
struct NamePage: WebPage {
    /// Posts `displayName`; empty for no name.
    let form: FormTarget
    let cancelLink: String
    /// What stands in the field.
    var displayName: String?
    /// Whether the person has signed in to another account than before.
    var isOfOtherAccount = false
    var error: FormError?
}

extension NamePage {
    static let template = """
        {{> otherAccount}}
        {{> error}}
        <form method="post" action="{{{action}}}">{{> csrf}}
        {{> displayNameField}}
        <button class="primary">{{text.save}}</button></form>
        {{> backToAccount}}
        """

    func view(in localization: Localization, _ theme: PageTheme) -> PageView {
        var view = PageView(localization[.changeName], error: error)
        view["displayName"] = displayName.map { HTMLText($0) }
        view.showAccountForm(form, cancelLink: cancelLink, isOfOtherAccount: isOfOtherAccount)
        return view
    }
}
