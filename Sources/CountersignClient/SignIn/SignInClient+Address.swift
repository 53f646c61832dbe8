/// Passwords and addresses. What the server wants fresh throws `refused("reauthentication_required", 403)`.
extension SignInClient {
    /// Sets or changes the password; all other sessions end.
    ///
    /// - Parameter current: mandatory when the account has a password. Without one the session has to be fresh.
    /// - Throws: `refused("weak_password", 400)`; `refused("invalid_credentials", 401)` for a wrong current one.
    public func setPassword(_ new: String, current: String? = nil) async throws(SessionError) {
        var body: [String: JSONValue] = ["newPassword": .string(new)]
        body["currentPassword"] = current.map(JSONValue.string)
        try await send("v1/account/password", body, method: "PUT").require(204)
    }

    /// Has a code mailed with which a password can be set; the answer is the same for every address.
    public func requestPasswordReset(for email: String) async throws(SessionError) {
        try await requestCode(["email": .string(email), "purpose": "resetPassword"])
    }

    /// Sets a password by a mailed code. All sessions of the account end; sign in with it afterwards.
    ///
    /// - Throws: `refused("weak_password", 400)`, and the code stays good; `refused("invalid_credentials", 401)`.
    public func resetPassword(email: String, code: String, newPassword: String) async throws(SessionError) {
        begin()
        let body: [String: JSONValue] = [
            "email": .string(email), "code": .string(code), "newPassword": .string(newPassword),
        ]
        try await server.send("v1/accounts/password-reset", body).require(204)
    }

    /// Has a code mailed with which ``verifyEmail(code:)`` proves the address that the account has.
    public func requestVerification(of email: String) async throws(SessionError) {
        try await requestCode(["email": .string(email), "purpose": "verifyEmail"])
    }

    /// Mails a code to another address (fresh). It becomes the account's by ``verifyEmail(code:)``.
    public func requestEmailChange(to email: String) async throws(SessionError) {
        try await send("v1/account/email", ["email": .string(email)], method: "PUT").require(202)
    }

    /// Proves an address by a mailed code: the one that was asked for, or the account's own (``requestVerification(of:)``).
    ///
    /// - Throws: `refused("invalid_credentials", 401)` for a wrong code; `refused("email_taken", 409)`. With `transient` the
    ///   code may have been used: look at ``account()``.
    public func verifyEmail(code: String) async throws(SessionError) {
        try await send("v1/account/verify-email", ["code": .string(code)], isCode: true).require(204)
    }

    /// Stops what ``ClientAccount/emailReplacement`` announces.
    public func cancelEmailReplacement() async throws(SessionError) {
        try await send("v1/account/email-replacement", method: "DELETE").require(204)
    }

    /// Has a code mailed, if there is a reason to.
    func requestCode(_ body: [String: JSONValue]) async throws(SessionError) {
        begin()
        // `{}`
        _ = try await server.send("v1/email-codes", body).body([String: JSONValue].self, status: 202)
    }
}
