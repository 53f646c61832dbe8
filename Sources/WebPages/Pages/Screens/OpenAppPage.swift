import Texts

/// The way back into an app with a private scheme: a meta refresh at once, and a link that always works.
struct OpenAppPage: WebPage {
    enum Outcome: String, CaseIterable, Sendable {
        case signedIn
        case cancelled
        case failed
    }

    let appName: String
    /// The app's redirect URI, complete.
    let uri: String
    let outcome: Outcome
}

extension OpenAppPage {
    static let template = """
        <p class="lead">{{lead}}</p>
        <a class="button primary" href="{{{uri}}}">{{text.openApp}}</a>
        """

    func view(in localization: Localization, _ theme: PageTheme) -> PageView {
        var view = PageView(localization[.openTitle])
        view.names["app"] = appName
        let lead: PageText =
            switch outcome {
            case .signedIn: .openSignedIn
            case .cancelled: .openCancelled
            case .failed: .openFailed
            }
        view["lead"] = localization[lead]
        view["uri"] = HTMLText(uri)
        view["refresh"] = true
        return view
    }
}
