import HTTPTypes
import Hummingbird

/// Middleware that turns errors into their responses. It runs inside of the fault and history middleware, so that both
/// see every response.
struct RefusalMiddleware: RouterMiddleware {
    let history: RequestHistory

    func handle(
        _ request: Request, context: SandboxContext,
        next: (Request, SandboxContext) async throws -> Response
    ) async throws -> Response {
        do {
            return try await next(request, context)
        } catch let error as HTTPError where error.status == .notFound && context.historyEntry == nil {
            let known = "GET reads, POST does; docs/sandbox.md lists the paths."
            let refusal = ControlRefusal.notFound("There is no \(request.method) \(request.uri.path). \(known)")
            return refusal.response(from: request, context: context)
        } catch let error as any ProviderRefusal {
            if let entry = context.historyEntry { history.note(reason: error.reason, in: entry) }
            return try error.response(from: request, context: context)
        } catch let error as any HTTPResponseError {
            return try error.response(from: request, context: context)
        }
    }
}
