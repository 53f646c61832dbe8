import Synchronization

/// What one provider's pages do without a person: the choices that wait, and whether a script sends forms.
final class BrowserPlan: Sendable {
    struct Entry: Sendable {
        let choice: BrowserChoice
        /// nil for any client.
        let clientID: String?
        var remaining: Int64

        init(_ members: ControlMembers, at provider: ProviderName) {
            choice = BrowserChoice(members, at: provider)
            clientID = members.optionalClientID()
            remaining = members.optionalInteger("times", in: 1...1_000_000) ?? 1
        }

        var json: JSONObject {
            [
                "action": choice.action?.rawValue, "person": choice.person, "clientId": clientID,
                "remaining": remaining,
            ]
        }
    }

    private struct State {
        var entries: [Entry] = []
        var sendsForms = false
    }

    private let state = Mutex(State())

    var entries: [Entry] { state.withLock { $0.entries } }

    var sendsForms: Bool {
        get { state.withLock { $0.sendsForms } }
        set { state.withLock { $0.sendsForms = newValue } }
    }

    func add(_ entry: Entry) { state.withLock { $0.entries.append(entry) } }

    /// The oldest choice that waits for this client's next authorization; it is counted.
    func nextChoice(for clientID: String) -> BrowserChoice? {
        state.withLock { state in
            guard let index = state.entries.firstIndex(where: { $0.clientID == nil || $0.clientID == clientID }) else {
                return nil
            }
            let choice = state.entries[index].choice
            state.entries[index].remaining -= 1
            if state.entries[index].remaining == 0 { state.entries.remove(at: index) }
            return choice
        }
    }

    func clear() { state.withLock { $0.entries = [] } }

    func reset() { state.withLock { $0 = State() } }
}
