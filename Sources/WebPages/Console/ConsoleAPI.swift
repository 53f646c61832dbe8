import Accounts
package import Administration
import HTTPAPI
package import HTTPServer
import Primitives
import SignIn

/// The console, `/console`: pages for support and operations, on the private listener. Each calls the use cases of the
/// admin API and nothing else.
package struct ConsoleAPI: Sendable {
    private static let cookieName = "csn_console"
    /// The rows of a page of a list.
    static let pageSize = 50

    typealias Handler = @Sendable (Request, ConsoleVisitor) async throws -> Response

    let administration: Administration
    let inspection: ServiceInspection
    let sessions: ConsoleSessions
    let environment: ConsoleEnvironment
    let host: ConsoleHost
    private let renderer = ConsoleRenderer()
    /// The comparisons of the trail with its seals, each of which may read a hundred thousand rows.
    let comparisons = FairLimit<Never>(running: 1)
    /// No form of a page ends outside of it.
    private static let policy = """
        default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; \
        frame-ancestors 'none'
        """
    /// The header fields of every page and redirect.
    private let headers: [(name: String, value: String)]
    private let assetHeaders: [(name: String, value: String)]

    package init(
        administration: Administration, inspection: ServiceInspection, sessions: ConsoleSessions,
        environment: ConsoleEnvironment, host: ConsoleHost
    ) {
        self.administration = administration
        self.inspection = inspection
        self.sessions = sessions
        self.environment = environment
        self.host = host
        let common = PageHeaders(isSecure: host.isSecure)
        headers = common.fields(policy: Self.policy, isIsolated: true)
        assetHeaders = common.forAssets
    }

    package var routes: [Route] {
        let routes =
            sessionRoutes + staffRoutes + overviewRoutes + accountRoutes + workRoutes + auditRoutes + webhookRoutes
            + operationRoutes
            + actRoutes + [assetRoute]
        let refusing = routes.map { route in
            route.refused { error, problem, request in failure(error, problem, request) }
        }
        return (refusing + [unknownRoute]).map { route in
            route.guarded { request in
                guard host.accepts(request.header("Host")) else {
                    throw Problem(.forbidden, reason: "console_host")
                }
            }
        }
    }

    /// An address below `/console` that is none: a page for who looks at it, JSON for everybody else.
    private var unknownRoute: Route {
        Route(.get, "/console/*", priority: .reading) { request in
            let problem = Problem(.notFound)
            guard request.acceptsHTML else { throw problem }
            guard try await visitor(of: request, isActivity: true) != nil else {
                return showAlone(signInPage(to: request.target))
            }
            return failure(problem, problem, request)
        }
    }

    private var assetRoute: Route {
        Route(.get, ConsolePath.assets + "/{asset}", priority: .observing) { request in
            try .asset(of: [renderer.styleSheet], at: request, headers: assetHeaders)
        }
    }

    // MARK: - Guard

    /// A page for administrators who have the scope.
    ///
    /// - Parameter scope: nil where signing in is enough.
    func page(_ path: String, _ scope: AdminKey.Scope?, _ handler: @escaping Handler) -> Route {
        Route(.get, path, priority: .reading) { request in
            // A page that loads itself again is no sign of anybody.
            let isFollowing = (try? request.parameterValue("follow")) ?? nil != nil
            let isActivity = !isFollowing || request.header("Sec-Fetch-User") != nil
            guard let visitor = try await visitor(of: request, isActivity: isActivity) else {
                return showAlone(signInPage(to: request.target))
            }
            if let scope { try visitor.administrator.require(scope) }
            return try await handler(request, visitor)
        }
    }

    /// A form of ours, in a session.
    ///
    /// - Parameter read: takes the fields from it.
    func form<Value>(
        of request: Request, action: String, _ read: (inout Fields) throws -> Value
    ) async throws -> (visitor: ConsoleVisitor, value: Value)? {
        // Another site's form is no activity of the session.
        try request.requireOurSite()
        guard let visitor = try await visitor(of: request, isActivity: true) else { return nil }
        return (visitor, try request.ownForm(secret: visitor.secret.text, flow: "console", action: action, read))
    }

    func visitor(of request: Request, isActivity: Bool) async throws -> ConsoleVisitor? {
        guard let secret = secret(of: request),
            let administrator = try await sessions.administrator(
                of: secret, isActivity: isActivity, by: administration.calls.begin(by: request.caller()))
        else { return nil }
        return ConsoleVisitor(
            administrator: administrator, secret: secret, path: String(request.target.prefix { $0 != "?" }))
    }

    func secret(of request: Request) -> ConsoleSecret? {
        request.cookie(Self.cookieName).flatMap(ConsoleSecret.init(presented:))
    }

    /// - Parameter secret: nil to delete it.
    func cookie(_ secret: ConsoleSecret?, for request: Request) -> ResponseCookie {
        // What a client says of its own proxy can only make its cookie stricter.
        let isSecure = host.isPublic(request.header("Host") ?? "") && request.header("X-Forwarded-Proto") == "https"
        return ResponseCookie(
            name: Self.cookieName, value: secret?.text ?? "", path: "/console", sameSite: .strict,
            isSecure: isSecure, maximumAge: secret == nil ? 0 : nil)
    }

    // MARK: - Responses

    func show(_ page: ConsolePage, _ status: Status = .ok, in visitor: ConsoleVisitor) throws -> Response {
        response(page, status, in: try frame(of: visitor, at: page.place ?? visitor.path))
    }

    /// A page without a session.
    func showAlone(_ page: ConsolePage, _ status: Status = .ok) -> Response { response(page, status, in: nil) }

    private func response(_ page: ConsolePage, _ status: Status, in frame: ConsoleRenderer.Frame?) -> Response {
        var response = Response.html(status, renderer.html(page, in: frame))
        response.headers = headers
        return response
    }

    private func frame(of visitor: ConsoleVisitor, at place: String) throws -> ConsoleRenderer.Frame {
        var links = [("Overview", ConsolePath.root)]
        if visitor.may(.read) {
            links += [
                ("Accounts", ConsolePath.accounts), ("Revocations", ConsolePath.revocations),
                ("Provider events", ConsolePath.providerEvents), ("Audit", ConsolePath.audit),
            ]
            if administration.hasWebhooks { links.append(("Webhooks", ConsolePath.webhooks)) }
            if administration.oauth != nil { links.append(("OAuth clients", ConsolePath.oauthClients)) }
        }
        if visitor.may(.manage) { links.append(("Admin keys", ConsolePath.adminKeys)) }
        if visitor.may(.read) { links.append(("System", ConsolePath.system)) }
        return ConsoleRenderer.Frame(
            keyName: visitor.administrator.name ?? "", links: links, path: place,
            signOut: try visitor.target(ConsolePath.signOut))
    }

    /// A document that the browser saves.
    func download(_ document: Response, name: String) -> Response {
        var response = document
        response.headers = headers + [("Content-Disposition", "attachment; filename=\"\(name)\"")]
        return response
    }

    func redirect(to path: String) -> Response {
        var response = Response.redirect(to: path)
        response.headers += headers
        return response
    }

    private func failure(_ error: any Error, _ problem: Problem, _ request: Request) -> Response {
        let page = ConsolePage(
            problem.code == .forbidden ? "Not allowed" : problem.code.title,
            [
                .paragraph(.text(Self.sentence(on: problem))),
                .paragraph(.link("Overview", to: ConsolePath.root)),
                .paragraph(.row([.text("Request"), .code(request.id)])),
            ])
        return showAlone(page, problem.code.status).refusing(problem)
    }

    private static func sentence(on problem: Problem) -> String {
        switch problem.reason {
        case "console_host":
            "The console answers at the address of its listener and at admin.publicHost, and at no other name."
        case "csrf", "cross_site": "The form is not one of this session. Open the page again, then try once more."
        default:
            problem.code == .forbidden ? "What you are signed in with may not do this." : problem.code.title
        }
    }
}

struct ConsoleVisitor: Sendable {
    let administrator: Administrator
    let secret: ConsoleSecret
    /// Of the page that they ask for.
    let path: String

    func may(_ scope: AdminKey.Scope) -> Bool { administrator.scopes.contains(scope) }

    /// When they asked.
    var now: Timestamp { administrator.call.now }

    /// Where a form of this session goes.
    func target(_ action: String) throws -> FormTarget {
        FormTarget(action: action, csrf: try FormToken.text(secret: secret.text, flow: "console", action: action))
    }
}

extension Response {
    /// This page, as the answer of a refusal.
    func refusing(_ problem: Problem) -> Response {
        var response = self
        response.headers += problem.headers
        response.problem = problem
        return response
    }
}

extension Request {
    /// A parameter of the query. An empty one is none.
    func parameterValue(_ name: String) throws(Problem) -> String? {
        guard let text = SearchText.read(name, of: queryText ?? "") else { throw Problem(.invalidRequest) }
        return text.isEmpty ? nil : text
    }

    /// One of some words.
    func choice<Choice: RawRepresentable<String>>(_ name: String, of choice: Choice.Type) throws(Problem) -> Choice? {
        guard let text = try parameterValue(name) else { return nil }
        guard let value = Choice(rawValue: text) else { throw Problem(.invalidRequest) }
        return value
    }

    /// The position at which a list continues.
    func cursor<Cursor: ListCursor>(_: Cursor.Type) throws(Problem) -> Cursor? {
        guard let text = try parameterValue("cursor") else { return nil }
        guard let cursor = Cursor.from(text) else { throw Problem(.invalidRequest) }
        return cursor
    }
}

/// A path of the console with parameters, those without a value left out.
func consolePath(_ path: String, _ parameters: [(name: String, value: String?)]) -> String {
    let given = parameters.compactMap { name, value in value.map { (name, $0) } }
    return given.isEmpty ? path : URIQuery.appending(given, to: path)
}

extension Page where Cursor: ListCursor {
    /// The path of the next page, at the parameters of this one.
    func link(_ path: String, _ parameters: [(name: String, value: String?)] = []) -> String? {
        next.map { consolePath(path, parameters + [("cursor", $0.encoded)]) }
    }
}
