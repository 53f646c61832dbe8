import Accounts
import Storage

/// Signs in a person whom a browser has proven: the decisions of the other ways to sign in, from where their proof ends.
struct ProvenPersons: Sendable {
    let providers: ProviderSignIn
    let passwords: PasswordSignIn
    let emailCodes: EmailCodeSignIn

    func signIn(_ person: ProvenPerson, by call: Call) async throws(SignInFailure) -> SignInAnswer {
        switch person {
        case .identity(let identity, let grant, let displayName):
            try await providers.signIn(identity, grant: grant, fullName: displayName, by: call)
        case .password(let accountID, let passwordHash, let time):
            .signedIn(try await passwords.signIn(accountID, passwordHash: passwordHash, provenAt: time, by: call))
        case .emailCode(let code, let time):
            try await emailCodes.signIn(by: code, provenAt: time, by: call)
        }
    }
}
