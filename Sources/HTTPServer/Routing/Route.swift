/// One operation: a method, a path and the handler that answers it.
///
/// The template is a path of literal segments and parameters: `/v1/sessions/{sessionId}`. A last segment `*` stands for
/// every path there that has no route.
package struct Route: Sendable {
    package enum Method: String, CaseIterable, Sendable {
        case get = "GET"
        case post = "POST"
        case put = "PUT"
        case patch = "PATCH"
        case delete = "DELETE"
    }

    /// The order in which requests are rejected under overload, the first to be rejected first.
    package enum Priority: Sendable {
        /// Reads something that can be read later.
        case reading
        /// Signs in, or continues a session.
        case signingIn
        /// Takes access away, or announces that it has to be, as a provider's event does.
        case revoking
        /// Health, metrics and our key set, which are never rejected.
        case observing
    }

    package typealias Handler = @Sendable (Request) async throws -> Response

    /// The response to an error that the handler has thrown, and to its problem, in place of the problem's own JSON.
    package typealias Refusal = @Sendable (any Error, Problem, Request) -> Response

    /// The response to what is rejected before dispatch on the path; `nil`: `application/problem+json`. It has the request for
    /// an unsupported method alone, while there is a permit: what is too large was not read, and overload has to cost next to
    /// nothing.
    package typealias EarlyRefusal = @Sendable (Problem, Request?) -> Response?

    package let method: Method
    package let template: String
    package let priority: Priority
    package private(set) var handler: Handler
    package private(set) var refusal: Refusal?
    /// Renders what is rejected before dispatch on the path.
    package private(set) var earlyRefusal: EarlyRefusal?

    package init(_ method: Method, _ template: String, priority: Priority = .signingIn, _ handler: @escaping Handler) {
        self.method = method
        self.template = template
        self.priority = priority
        self.handler = handler
    }

    /// The same operation, answered by another handler.
    func handled(by handler: @escaping Handler) -> Route {
        var route = self
        route.handler = handler
        return route
    }

    /// The same operation, whose handler is called only when `check` throws nothing.
    package func guarded(by check: @escaping @Sendable (Request) throws -> Void) -> Route {
        handled(by: { [handler] request in
            try check(request)
            return try await handler(request)
        })
    }

    /// The same operation, whose errors are answered by `refusal`.
    ///
    /// It is about what the handler throws: a request that reaches no handler, for its form, its method or for overload,
    /// is answered by the problem itself.
    package func refused(by refusal: @escaping Refusal) -> Route {
        var route = self
        route.refusal = refusal
        return route
    }

    /// The same operation, whose failures are answered by `answer` and whose other errors by `others`.
    ///
    /// A failure has a problem of its own: none can be answered as a refusal here and be logged as unexpected.
    package func refused<Failure: ProblemConvertible>(
        by answer: @escaping @Sendable (Failure) -> Response, others: @escaping @Sendable (Problem) -> Response
    ) -> Route {
        refused { error, problem, _ in (error as? Failure).map(answer) ?? others(problem) }
    }

    /// A copy whose path renders rejections before dispatch by `refusal`: an unsupported method, a body that is too
    /// large, overload.
    package func refusedEarly(by refusal: @escaping EarlyRefusal) -> Route {
        var route = self
        route.earlyRefusal = refusal
        return route
    }
}
