import Administration
import HTTPAPI
import HTTPServer
import SignIn

/// Signing in by an admin key, and out.
extension ConsoleAPI {
    var sessionRoutes: [Route] {
        [
            // What a browser opens that knows the listener's address alone.
            Route(.get, "/", priority: .reading) { _ in redirect(to: ConsolePath.root) },
            Route(.get, "/console", priority: .reading) { _ in redirect(to: ConsolePath.root) },
            Route(.get, ConsolePath.signIn, priority: .reading) { request in
                showAlone(signInPage(to: request.target))
            },
            Route(.post, ConsolePath.signIn, priority: .revoking) { request in try await signIn(request) },
            Route(.post, ConsolePath.signOut, priority: .revoking) { request in
                _ = try await form(of: request, action: ConsolePath.signOut) { _ in }
                try await sessions.end(secret(of: request))
                return redirect(to: ConsolePath.root).setting(cookie(nil, for: request))
            },
        ]
    }

    private func signIn(_ request: Request) async throws -> Response {
        try request.requireOurSite()
        let (key, destination) = try request.form { fields in
            // Whatever is pasted gets the form again: it is a key or none.
            (
                (fields.optionalString("key", maximumBytes: .max, allowsControls: true) ?? "").trimmed,
                fields.optionalString("to", maximumBytes: Self.longestDestination) ?? ""
            )
        }
        do throws(AdministrationFailure) {
            let secret = try await sessions.open(presenting: key, by: administration.calls.begin(by: request.caller()))
            return redirect(to: Self.isOwnPage(destination) ? destination : ConsolePath.root)
                .setting(cookie(secret, for: request))
        } catch {
            let sentence =
                switch error {
                case .forbidden: "This key is for the feed, and opens nothing here."
                case .unknownKey where sessions.entrance.acceptsKeys:
                    "This is no admin key, or one that was revoked."
                case .unknownKey: "Admin keys open nothing here."
                default: throw error
                }
            return refused(sentence, Problem(.invalidCredentials), to: destination)
        }
    }

    func signInPage(to destination: String) -> ConsolePage {
        let entrance = sessions.entrance
        let isOwn = Self.isOwnPage(destination)
        var page = ConsolePage("Sign in")
        if entrance.staff != nil {
            // Without the query, which may be an address that was searched for: the way to Google is kept in a row.
            let wanted = String(destination.prefix { $0 != "?" })
            let path = consolePath(ConsolePath.staff, [("to", isOwn && wanted != ConsolePath.root ? wanted : nil)])
            page.blocks.append(.paragraph(.link("Sign in with Google", to: path)))
        }
        guard entrance.acceptsKeys else { return page }
        let key = ConsoleForm.Field(name: "key", label: "Admin key", kind: .secret)
        let fields =
            isOwn ? [ConsoleForm.Field(name: "to", label: "", kind: .hidden, value: destination), key] : [key]
        page.blocks += [
            .form(ConsoleForm(action: ConsolePath.signIn, csrf: nil, fields: fields, button: "Sign in")),
            .paragraph(.text("A key is made on the command line, with countersign admin-key create.")),
        ]
        return page
    }

    /// In bytes.
    private static let longestDestination = 2048
    private static let notPages = [ConsolePath.signIn, ConsolePath.callbacks + "/", ConsolePath.assets + "/"]

    /// Whether it is a page of the console, to which the sign-in may lead.
    static func isOwnPage(_ target: String) -> Bool {
        target.hasPrefix(ConsolePath.root) && target.utf8.count <= longestDestination
            && target.utf8.allSatisfy { (0x21...0x7E).contains($0) }
            && !notPages.contains { target.hasPrefix($0) }
    }
}
