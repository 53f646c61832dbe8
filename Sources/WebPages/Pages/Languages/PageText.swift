/// A text of the pages. The raw value is its name in the templates.
enum PageText: String, CaseIterable, Sendable {
    // Every page
    case title
    case errorTitle
    case date
    case privacy
    case terms
    case help
    case cancel
    case back
    // Signing in
    case signInTitle
    case continueToClient
    case continueWithApple
    case continueWithGoogle
    case or
    case email
    case password
    case signIn
    case emailMeACode
    // Mailed codes
    case codeTitle
    case codeTitleBind
    case codeTitleConfirmAddress
    case codeLead
    case codeLeadBind
    case codeLeadConfirmAddress
    case sendCode
    case enterCodeTitle
    case codeSent
    case codeSentConfirmAddress
    case codeLife
    case code
    case confirmCode
    case codeMissing
    case sendAnotherCode
    // Create or bind
    case linkTitle
    case signedInAs
    case notLinkedYet
    case mailboxProven
    case holderExists
    case holderWays
    case holderSince
    case linkedOn
    case useExisting
    case useExistingHint
    case createNew
    case createNewHint
    case createTitle
    case askedBefore
    case haveAccount
    case displayName
    case newPassword
    case newPasswordHint
    case takesAddress
    case createAccount
    case bindTitle
    case bindLead
    case bindLeadMailbox
    case codeWasRight
    case isThisYours
    case thisIsMine
    case thisIsMineHint
    case linkAccount
    case createInstead
    case conflictTitle
    case conflictLead
    case conflictHint
    case passwordAgain
    case replace
    case keep
    // Consent
    case consentTitle
    case consentAccount
    case useAnotherAccount
    case consentScopes
    case scopeProfile
    case scopeEmail
    case consentEnd
    case clientPrivacy
    case missingEmailTitle
    case missingEmailLead
    case backToClient
    case allow
    case deny
    // The end of a sign-in
    case openTitle
    case openSignedIn
    case openCancelled
    case openFailed
    case openApp
    case flipTitle
    case flipLead
    case signedOutTitle
    case signedOutLead
    case signInAgain
    // The account
    case accountTitle
    case waysToSignIn
    case passwordIsSet
    case onlyWay
    case noWays
    case unlinkProvider
    case unlinkHint
    case linkedClients
    case lastUsedOn
    case unlinkClient
    case signOut
    case unlinkedProvider
    case unlinkedClient
    case unlinkProviderTitle
    case unlinkProviderLead
    case unlinkSignsOut
    case unlinkedSignsOut
    case unlinkClientTitle
    case unlinkClientLead
    // Failures
    case tryAgain
    case reference

    /// The names that the text may hold, each in double braces. Every language has to use the same ones.
    var placeholders: Set<String> {
        switch self {
        case .title, .errorTitle: ["heading", "service"]
        case .date: ["day", "month", "year"]
        case .signInTitle, .askedBefore, .codeLeadBind, .openTitle, .openSignedIn, .openFailed,
            .openApp:
            ["app"]
        case .continueToClient, .codeLeadConfirmAddress, .consentTitle, .consentScopes, .consentEnd, .clientPrivacy,
            .unlinkClient, .unlinkedClient, .missingEmailLead, .backToClient, .unlinkClientTitle, .unlinkClientLead:
            ["client"]
        case .signedInAs: ["provider", "email"]
        case .notLinkedYet: ["app", "provider"]
        case .bindLead, .conflictTitle, .conflictLead, .unlinkProvider, .unlinkedProvider, .unlinkProviderTitle,
            .unlinkProviderLead, .unlinkSignsOut, .unlinkedSignsOut:
            ["provider"]
        case .mailboxProven, .codeSent, .codeSentConfirmAddress, .takesAddress: ["email"]
        case .holderSince, .linkedOn, .lastUsedOn: ["date"]
        case .reference: ["reference"]
        case .privacy, .terms, .help, .cancel, .back, .continueWithApple, .continueWithGoogle, .or, .email, .password,
            .signIn, .emailMeACode, .codeTitle, .codeTitleBind, .codeTitleConfirmAddress, .codeLead, .sendCode,
            .enterCodeTitle, .codeLife, .code, .confirmCode, .codeMissing, .sendAnotherCode, .linkTitle,
            .holderExists, .holderWays, .useExisting, .useExistingHint, .createNew, .createNewHint, .createTitle,
            .haveAccount, .displayName, .newPassword, .newPasswordHint, .createAccount, .bindTitle, .bindLeadMailbox,
            .codeWasRight, .isThisYours, .thisIsMine, .thisIsMineHint, .linkAccount, .createInstead, .conflictHint,
            .passwordAgain, .replace, .keep,
            .consentAccount, .useAnotherAccount, .scopeProfile, .scopeEmail, .allow, .deny, .openCancelled,
            .flipTitle, .flipLead, .signedOutTitle, .signedOutLead, .signInAgain, .accountTitle, .waysToSignIn,
            .passwordIsSet, .onlyWay,
            .noWays, .missingEmailTitle, .unlinkHint, .linkedClients, .signOut, .tryAgain:
            []
        }
    }
}
