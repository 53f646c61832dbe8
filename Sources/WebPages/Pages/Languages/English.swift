extension LanguageTexts {
    static let english = LanguageTexts(
        tag: "en",
        months: [
            "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
            "November", "December",
        ],
        text: english, error: english, failure: english)

    private static func english(_ text: PageText) -> String {
        switch text {
        case .title: "{{heading}} – {{service}}"
        case .errorTitle: "Error: {{heading}} – {{service}}"
        case .date: "{{month}} {{day}}, {{year}}"
        case .privacy: "Privacy"
        case .terms: "Terms"
        case .help: "Help"
        case .cancel: "Cancel"
        case .back: "Back"
        case .signInTitle: "Sign in to {{app}}"
        case .continueToClient: "Then you can link your account with {{client}}."
        case .continueWithApple: "Continue with Apple"
        case .continueWithGoogle: "Continue with Google"
        case .or: "or"
        case .email: "Email address"
        case .password: "Password"
        case .signIn: "Sign in"
        case .emailMeACode: "Get a code by email"
        case .codeTitle: "Sign in with a code"
        case .codeTitleBind: "Prove your account with a code"
        case .codeTitleConfirmAddress: "Confirm your email address"
        case .codeLead: "We’ll email you a code to sign in with."
        case .codeLeadBind:
            "Enter the address of your {{app}} account. We’ll email it a code that proves the account is yours."
        case .codeLeadConfirmAddress:
            "{{client}} asks for an address that you’ve confirmed. We’ll email you a code."
        case .sendCode: "Email me a code"
        case .enterCodeTitle: "Enter the code"
        case .codeSent: "If there is an account for {{email}}, we’ve emailed it a code."
        case .codeSentConfirmAddress: "We’ve emailed a code to {{email}}."
        case .codeLife: "It works for 10 minutes."
        case .code: "Code"
        case .confirmCode: "Continue"
        case .codeMissing: "No mail? Look in your spam folder first."
        case .sendAnotherCode: "Send the code again"
        case .linkTitle: "Do you already have an account?"
        case .signedInAs: "You signed in with {{provider}} as {{email}}."
        case .notLinkedYet: "No {{app}} account uses this {{provider}} account yet."
        case .mailboxProven: "You’ve shown that {{email}} is your address."
        case .holderExists: "There is already an account with this address."
        case .holderWays: "It is opened with:"
        case .holderSince: "Account since {{date}}"
        case .linkedOn: "Linked on {{date}}"
        case .useExisting: "Use my existing account"
        case .useExistingHint: "You show that it’s yours, and from then on both ways open the same account."
        case .createNew: "I’m new here"
        case .createNewHint: "A new account, separate from the existing one."
        case .createTitle: "Create an account"
        case .askedBefore:
            "Have you signed in to {{app}} another way before? Then use that account, so that you don’t end up with two."
        case .haveAccount: "I already have an account"
        case .displayName: "Your name (optional)"
        case .newPassword: "Password (optional)"
        case .newPasswordHint: "At least 8 characters. Without one, you sign in with a code by email."
        case .takesAddress:
            "This account loses the address {{email}} to the new one. Its other ways to sign in stay as they are."
        case .createAccount: "Create account"
        case .bindTitle: "Use your existing account"
        case .bindLead: "Show that the account is yours. From then on you can also open it with {{provider}}."
        case .bindLeadMailbox: "Show that the account is yours."
        case .codeWasRight: "The code was right."
        case .isThisYours: "Is this your account?"
        case .thisIsMine: "This is my account"
        case .thisIsMineHint: "Your address is proof enough. All other devices will be signed out."
        case .linkAccount: "Use this account"
        case .createInstead: "Create a new account instead"
        case .conflictTitle: "Another {{provider}} account is linked"
        case .conflictLead: "Your account is already linked to this {{provider}} account:"
        case .conflictHint:
            "If you replace it, it no longer opens your account, and devices that signed in with it are signed out."
        case .passwordAgain: "Enter your password once more"
        case .replace: "Replace it"
        case .keep: "Keep it"
        case .consentTitle: "Link your account with {{client}}?"
        case .consentAccount: "Your account"
        case .useAnotherAccount: "Use another account"
        case .consentScopes: "{{client}} asks for:"
        case .scopeProfile: "Your name"
        case .scopeEmail: "Your email address"
        case .consentEnd: "You can unlink {{client}} at any time on your account page."
        case .clientPrivacy: "Privacy policy of {{client}}"
        case .missingEmailTitle: "Your account lacks an email address"
        case .missingEmailLead:
            """
            {{client}} asks for an address that you’ve confirmed. Your account has none, and no mail can be \
            sent here to confirm one. Nothing was linked.
            """
        case .backToClient: "Go back to {{client}}"
        case .allow: "Allow"
        case .deny: "Deny"
        case .openTitle: "Go back to {{app}}"
        case .openSignedIn: "Finish signing in there. When {{app}} is open, you can close this page."
        case .openCancelled: "You’ve cancelled, and you aren’t signed in."
        case .openFailed: "The sign-in didn’t work. Try again in {{app}}."
        case .openApp: "Open {{app}}"
        case .flipTitle: "Open this link on your phone"
        case .flipLead:
            """
            It opens the app that is linked there. If you see this page on your phone, install or \
            update the app and try again.
            """
        case .signedOutTitle: "You’re signed out"
        case .signedOutLead: "You can close this page."
        case .signInAgain: "Sign in again"
        case .accountTitle: "Your account"
        case .waysToSignIn: "Ways to sign in"
        case .passwordIsSet: "Together with your email address"
        case .onlyWay: "Your only way to sign in: it can’t be unlinked."
        case .noWays: "A code by email"
        case .unlinkProvider: "Unlink {{provider}}"
        case .unlinkHint:
            "What you unlink no longer opens your account, and devices that signed in with it are signed out."
        case .linkedClients: "Linked apps and services"
        case .lastUsedOn: "Last used on {{date}}"
        case .unlinkClient: "Unlink {{client}}"
        case .signOut: "Sign out"
        case .unlinkedProvider: "{{provider}} is unlinked."
        case .unlinkedClient: "{{client}} is unlinked."
        case .unlinkProviderTitle: "Unlink {{provider}}?"
        case .unlinkProviderLead:
            "{{provider}} will no longer open your account, and devices that signed in with it will be signed out."
        case .unlinkSignsOut: "You signed in here with {{provider}}, so this device will be signed out too."
        case .unlinkedSignsOut: "You had signed in here with {{provider}}. Sign in another way to see your account."
        case .unlinkClientTitle: "Unlink {{client}}?"
        case .unlinkClientLead:
            "{{client}} will lose access to your account at once. You can link it again at any time."
        case .tryAgain: "Try again"
        case .reference: "Reference for support: {{reference}}"
        }
    }

    private static func english(_ error: FormError) -> String {
        switch error {
        case .wrongPassword: "The email address or the password is wrong."
        case .wrongCode: "This code is wrong or has expired. Check it, or have a new one sent."
        case .invalidEmail: "Enter an email address like name@example.com."
        case .missingPassword: "Enter your password."
        case .missingCode: "Enter the code from the mail."
        case .weakPassword: "Choose another password: at least 8 characters, and not a common one."
        case .invalidDisplayName: "Choose another name, or leave it out."
        case .emailTaken: "There is already an account with this address. Use that account."
        case .identityAlreadyLinked: "This sign-in has been linked to an account in the meantime. Sign in again."
        case .holderChanged: "This account has changed in the meantime. Look at it again."
        case .lastSignInMethod: "This is your only way to sign in. Link another one first."
        case .accountDisabled: "This account is disabled. Contact the support of {{service}}."
        case .tooManyTries: "Too many attempts. Wait a few minutes, then try again."
        case .mailUnavailable: "We can’t send mail right now. Sign in another way, or try again later."
        case .providerUnavailable: "The provider can’t be reached right now. Try again, or sign in another way."
        case .providerRefused: "The sign-in couldn’t be confirmed. Try again, or sign in another way."
        case .cancelledAtProvider: "You cancelled. Try again, or choose another way."
        case .otherIdentity:
            "That sign-in doesn’t open this account. Use another one, or show in another way that the account is yours."
        }
    }

    private static func english(_ failure: FailurePage.Failure) -> FailureText {
        switch failure {
        case .unknownApp:
            FailureText(
                "This app isn’t registered here",
                """
                The app that sent you isn’t known, or gave an address that isn’t its own. Update it and try again; if \
                that doesn’t help, contact its makers.
                """)
        case .unknownClient:
            FailureText(
                "This service isn’t registered here",
                """
                The service that sent you isn’t known, or gave an address that isn’t its own. Go back and try again; \
                if that doesn’t help, contact its support.
                """)
        case .invalidRequest:
            FailureText("This link doesn’t work", "Something in it is missing or wrong. Go back and begin again.")
        case .flowExpired:
            FailureText(
                "This sign-in has expired",
                "Go back to where you started and begin again. If that doesn’t help, allow cookies for this site.")
        case .anotherBrowser:
            FailureText(
                "This sign-in began in another browser",
                "Continue in the browser where you started, or begin again here.")
        case .answerRefused:
            FailureText(
                "The sign-in couldn’t be confirmed",
                "The provider’s answer was wrong or came too late, and nothing was changed. Go back and begin again.")
        case .formExpired:
            FailureText("This page has expired", "Go back, reload the page and try again.")
        case .reauthenticationRequired:
            FailureText("Please sign in again", "Before your account is changed, we have to know that it’s you.")
        case .accountDisabled:
            FailureText("This account is disabled", "Contact the support of {{service}}.")
        case .tooManyRequests:
            FailureText("Too many attempts", "Wait a few minutes, then try again.")
        case .notFound:
            FailureText("Page not found", "Check the address, or go back to where you came from.")
        case .methodNotAllowed:
            FailureText("This page can’t be opened like this", "Go back to where you came from and try again.")
        case .unavailable:
            FailureText("Signing in isn’t possible right now", "Try again in a few minutes.")
        case .internalError:
            FailureText("Something went wrong", "The fault is ours. Try again in a few minutes.")
        }
    }
}
