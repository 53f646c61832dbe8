import HTTPTypes
import Hummingbird

/// A control path that does not exist says so, as every other refusal under `/control` does.
struct UnknownControl: RouterMiddleware {
    func handle(
        _ request: Request, context: SandboxContext,
        next: (Request, SandboxContext) async throws -> Response
    ) async throws -> Response {
        do {
            return try await next(request, context)
        } catch let error as HTTPError where error.status == .notFound && context.historyEntry == nil {
            let known = "GET reads, POST does; docs/sandbox.md lists the paths."
            throw ControlRefusal.notFound("There is no \(request.method) \(request.uri.path). \(known)")
        }
    }
}
