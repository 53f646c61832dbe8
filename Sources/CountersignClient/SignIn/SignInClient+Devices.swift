/// The sessions of the account that is signed in.
extension SignInClient {
    public func devices() async throws(SessionError) -> [SignedInDevice] {
        try await send("v1/sessions").body(ListWire<DeviceWire>.self).items.map(\.signedInDevice)
    }

    /// Ends a session. Its own is forgotten here whatever the server says, as by ``signOut()``.
    ///
    /// - Throws: `refused("not_found", 404)` for one that the account does not have.
    public func signOut(device id: String) async throws(SessionError) {
        let path = "v1/sessions/\(try pathPart(id))"
        let begun = try signedIn()
        guard begun.sessionID == id else { return try await send(path, method: "DELETE").require(204) }
        _ = try? keeper.reloaded()
        // What another process has signed in meanwhile goes on.
        guard keeper.known.isOpen(onlyBy: id) else {
            return try await server.send(path, method: "DELETE", bearer: begun.accessToken).require(204)
        }
        try await signOut { [server] token throws(SessionError) in
            try await server.send(path, method: "DELETE", bearer: token)
        }
    }

    /// Ends all sessions but this one.
    public func signOutOtherDevices() async throws(SessionError) {
        try await send("v1/sessions/revoke", ["scope": "others"]).require(204)
    }

    /// Ends all sessions and all links of services. This one is forgotten here once the server has done it.
    public func signOutEverywhere() async throws(SessionError) {
        let begun = try signedIn()
        try await send("v1/sessions/revoke", ["scope": "all"]).require(204)
        defer { announce() }
        _ = try? keeper.reloaded()
        guard keeper.known.isOpen(onlyBy: begun.sessionID) else {
            // Another sign-in, here or in another process, goes on. If it came before this call, the next one finds out.
            if keeper.known.isOpen(only: begun.accountID) { try? keeper.change { $0.session?.needsRefresh = true } }
            return
        }
        try close { document in
            if document.isOpen(onlyBy: begun.sessionID) { document.session = nil }
        }
    }
}
