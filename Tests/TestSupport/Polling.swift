/// The pause between two looks at what a test waits for. Without it the wait would take the processor from what it waits
/// for, and a small machine has few of them.
package func pollingPause() async throws { try await Task.sleep(for: .milliseconds(2)) }
