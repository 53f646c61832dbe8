package import Accounts
package import Administration
package import HTTPServer
import SignIn

/// The admin API, on the private listener. Each operation requires one scope of the calling key; a route can't be built
/// without naming it.
package struct AdminAPI: Sendable {
    /// A route and the scope that it requires.
    package struct Operation: Sendable {
        package let scope: AdminKey.Scope
        package let route: Route
    }

    typealias Handler = @Sendable (Request, Administrator) async throws -> Response

    let administration: Administration

    package init(administration: Administration) { self.administration = administration }

    /// The table of all operations. Tests call each one with every kind of credential.
    package var operations: [Operation] {
        accountOperations + identityOperations + revocationOperations + recordOperations + oauthOperations
            + actOperations + feedOperations + webhookOperations
    }

    package var routes: [Route] { operations.map(\.route) }

    func operation(
        _ method: Route.Method, _ template: String, _ scope: AdminKey.Scope, _ handler: @escaping Handler
    ) -> Operation {
        // Most changes by administrators take access away.
        let priority: Route.Priority = method == .get ? .reading : .revoking
        let route = Route(method, "/admin/v1" + template, priority: priority) { request in
            // Authenticates before it reads anything of the request, so that other callers learn nothing from its
            // checks.
            try await handler(request, administrator(of: request, for: scope))
        }
        return Operation(scope: scope, route: route)
    }

    /// Whose key the request has. The key is looked up.
    func administrator(of request: Request, for scope: AdminKey.Scope) async throws -> Administrator {
        var presented: [UInt8]?
        if case .token(let token) = request.bearer { presented = token }
        return try await administration.administrator(
            presenting: presented, for: scope, by: administration.calls.begin(by: request.caller()))
    }
}

extension AdministrationFailure: ProblemConvertible {
    package var problem: Problem {
        switch self {
        case .unknownKey: Problem(.invalidCredentials)
        case .forbidden: Problem(.forbidden)
        case .notFound: Problem(.notFound)
        case .endpointUnseen: Problem(.notFound, detail: sentence)
        case .unknownCursor: Problem(field: "after", .invalid)
        case .cursorExpired: Problem(.cursorExpired)
        case .lastSignInMethod: Problem(.lastSignInMethod)
        case .emailRequired, .addressMissing: Problem(field: "email", .required)
        case .emailNotAllowed, .emailUnchanged: Problem(field: "email", .notAllowed)
        case .emailTaken: Problem(.emailTaken)
        case .rateLimited(let retryAfter): Problem(.rateLimited, retryAfter: Int(retryAfter))
        case .accountDisabled: Problem(.accountDisabled)
        case .mailUnavailable: Problem(.temporarilyUnavailable, reason: "no mail is configured", retryAfter: 3600)
        case .overloaded(let retryAfter):
            Problem(.temporarilyUnavailable, detail: sentence, reason: "overloaded", retryAfter: retryAfter)
        case .replaysUnderWay(let oneEndsSoon):
            Problem(
                .temporarilyUnavailable, detail: sentence, reason: "replays_under_way",
                retryAfter: oneEndsSoon ? 1 : 60, isExpected: true)
        case .database, .cancelled: Problem(isTemporary ? .temporarilyUnavailable : .internalError, reason: detail)
        case .storageUnavailable(let detail): Problem(.temporarilyUnavailable, reason: detail)
        case .fault(let operation): Problem(.internalError, reason: operation)
        }
    }
}
