import ServiceLifecycle
import Webhooks

/// Pushes events until the service shuts down; the attempts that are under way end first.
struct WebhookService: Service {
    let webhooks: Webhooks

    func run() async throws {
        await withGracefulShutdownHandler {
            await webhooks.run()
        } onGracefulShutdown: {
            webhooks.stop()
        }
    }
}
