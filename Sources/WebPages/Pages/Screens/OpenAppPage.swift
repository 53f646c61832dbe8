/// The way back into an app with a private scheme: a meta refresh at once, and a link that always works.
package struct OpenAppPage: Sendable {
    package enum Outcome: String, CaseIterable, Sendable {
        case signedIn
        case cancelled
        case failed
    }

    package let appName: String
    /// The app's redirect URI, complete.
    package let uri: String
    package let outcome: Outcome

    package init(appName: String, uri: String, outcome: Outcome) {
        self.appName = appName
        self.uri = uri
        self.outcome = outcome
    }
}

extension OpenAppPage {
    static let template = """
        <p class="lead">{{lead}}</p>
        <a class="button primary" href="{{{uri}}}">{{text.openApp}}</a>
        """

    func view(in localization: Localization) -> PageView {
        var view = PageView(.openApp, localization[.openTitle])
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
