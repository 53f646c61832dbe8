import Accounts
import SignIn
import TestSupport

/// A person of a provider, with the claims that their token has beside its subject.
struct Person: Sendable {
    let provider: Provider
    let subject: String
    let claims: [(String, TokenMint.Literal?)]

    static func apple(_ subject: String, _ claims: [(String, TokenMint.Literal?)] = []) -> Person {
        Person(provider: .apple, subject: subject, claims: claims)
    }

    static func google(_ subject: String, _ claims: [(String, TokenMint.Literal?)] = []) -> Person {
        Person(provider: .google, subject: subject, claims: claims)
    }
}

extension SignInFixture {
    func token(of person: Person) throws -> String { try token(person.provider, person.subject, person.claims) }

    func signIn(_ person: Person, nonce: String? = nil) async throws -> SignInAnswer {
        try await signIn(person.provider, try token(of: person), nonce: nonce)
    }

    /// The ticket of a person who has no account yet.
    func ticket(_ person: Person) async throws -> LinkRequired { try await signIn(person).ticket }

    /// Signs in a person who has an account.
    func session(_ person: Person) async throws -> SignedIn { try await signIn(person).session }

    /// Creates an account for a person.
    func signUp(_ person: Person) async throws -> SignedIn { try await create(try await ticket(person)) }

    /// Binds a person to the account that a credential proves.
    func bind(_ person: Person, _ credential: BindCredential) async throws -> SignedIn {
        try await bind(try await ticket(person), credential)
    }
}
