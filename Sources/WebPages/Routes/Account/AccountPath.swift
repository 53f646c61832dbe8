import Accounts

/// The addresses of the account.
enum AccountPath {
    static let account = "/web/account"
    static let name = "/web/account/name"
    static let email = "/web/account/email"
    static let keepAddress = "/web/account/keep-address"
    static let password = "/web/account/password"
    static let unlink = "/web/account/unlink"
    static let endDevice = "/web/account/devices/end"
    static let signOut = "/web/sign-out"
    static let signedOut = "/web/signed-out"
    static let signOutEverywhere = "/web/account/sign-out-everywhere"
    static let export = "/web/account/export"
    static let delete = "/web/account/delete"

    static func link(_ provider: Provider) -> String { "/web/account/link/\(provider.rawValue)" }
}

extension AccountAct {
    /// The page on which the act is asked about, or its form filled in.
    var path: String {
        switch self {
        case .rename: AccountPath.name
        case .changeEmail: AccountPath.email
        case .changePassword: AccountPath.password
        case .link(let provider): AccountPath.link(provider)
        case .unlinkIdentity, .unlinkClient: AccountPath.unlink
        case .export: AccountPath.export
        case .delete: AccountPath.delete
        }
    }
}
