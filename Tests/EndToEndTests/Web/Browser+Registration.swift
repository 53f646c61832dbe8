import TestSupport
import Testing

/// What new people do on our own page.
extension Browser {
    static let registration = WebWorld.publicURL + "/web/register"

    /// Opens the page, fills it in, and returns the one that asks for the code.
    @discardableResult
    func register(
        _ email: String, name: String = "", _ location: SourceLocation = #_sourceLocation
    ) async throws -> Page { try await register(email, name: name, on: try await open(Self.registration), location) }

    @discardableResult
    func register(
        _ email: String, name: String = "", on page: Page, _ location: SourceLocation = #_sourceLocation
    ) async throws -> Page {
        try await fillIn(email, name: name, on: page, location).expecting(200, sourceLocation: location)
    }

    /// Sends the form, whatever the answer.
    func fillIn(
        _ email: String, name: String = "", on page: Page, _ location: SourceLocation = #_sourceLocation
    ) async throws -> Page {
        try await submit(
            try page.form("/web/register", location), on: page,
            typed: ["email": email, "password": World.password, "name": name])
    }

    func confirm(_ code: String, on page: Page) async throws -> Page {
        try await submit("/web/register", on: page, typed: ["code": code])
    }
}

extension Browser.Page {
    /// A page of a registration, without what belongs to this one alone.
    func body(without email: String) throws -> String {
        let flow = try #require(FormEncoding.parameters(of: url).first { $0.name == "flow" }).value
        let csrf = try #require(try form("/web/register").input("csrf")?.value)
        return answer.body.replacing(email, with: "EMAIL").replacing(flow, with: "FLOW").replacing(csrf, with: "CSRF")
    }
}

extension World {
    static let heldPassword = "another horse battery"

    /// An account that only claims the address. Returns the access token of its session.
    @discardableResult
    func claim(_ email: String) async throws -> String {
        let made = try await service.post(
            "/v1/accounts",
            ["email": .string(email), "password": .string(Self.heldPassword), "displayName": "Pat Earlier"])
        #expect(made.status == 201, "\(made.text)")
        return try made.bearer()
    }

    /// An account whose address is proven.
    func prove(_ email: String) async throws {
        try await claim(email)
        let signedIn = try await signIn(byCodeTo: email)
        // The proof has taken away what was set before it.
        let set = try await service.send(
            "PUT", "/v1/account/password", ["newPassword": .string(Self.heldPassword)], bearer: try signedIn.bearer())
        #expect(set.status == 204, "\(set.body)")
    }
}
