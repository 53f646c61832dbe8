import Accounts

extension BuiltInMail {
    @Sendable static func english(_ kind: Mail.Kind) -> BuiltInMail {
        switch kind {
        case .signInCode:
            english(
                "Your sign-in code for {{service}}",
                "This is your code to sign in to {{service}}:",
                "{{code}}",
                "It works once and expires in {{minutes}} min.",
                warning: """
                    If this wasn't you, somebody has typed your address: you can ignore this mail. Don't pass the code \
                    on; nobody at {{service}} will ever ask you for it.
                    """)
        case .bindCode:
            english(
                "Your code to link a sign-in to your {{service}} account",
                """
                Somebody, we hope you, has signed in to {{service}} in a new way and wants to link it to your account. \
                This code proves that the account is yours:
                """,
                "{{code}}",
                "It works once and expires in {{minutes}} min.",
                warning: """
                    If this wasn't you, ignore this mail and nothing will be linked. Don't pass the code on: whoever has \
                    it gets into your account.
                    """)
        case .verifyEmailCode:
            english(
                "Confirm your email address for {{service}}",
                "This code confirms the email address of your {{service}} account:",
                "{{code}}",
                "It works once and expires in {{minutes}} min.",
                warning: """
                    If this wasn't you, somebody has typed your address: ignore this mail, and the address stays \
                    unconfirmed. Don't pass the code on.
                    """)
        case .resetPasswordCode:
            english(
                "Your code to reset the password at {{service}}",
                "This code lets you choose a new password for your {{service}} account:",
                "{{code}}",
                "It works once and expires in {{minutes}} min. All devices will have to sign in again.",
                warning: """
                    If this wasn't you, ignore this mail and your password stays as it is. Don't pass the code on: \
                    whoever has it gets into your account.
                    """)
        case .resetBySignIn:
            english(
                "Sign in to {{service}} by a code",
                """
                Somebody, we hope you, wants to reset the password of your {{service}} account. Your address was never \
                confirmed by a code, so sign in with one first: ask for a sign-in code in the app. After that you can \
                choose a password.
                """,
                warning: "If this wasn't you, somebody has typed your address: you can ignore this mail.")
        case .accountCreated:
            english(
                "Your address is now used at {{service}}",
                """
                Somebody, we hope you, has signed in to {{service}} with {{provider}} and made an account with this \
                address.
                """,
                warning: """
                    If this wasn't you, ask for a sign-in code in the app of {{service}} and choose to make a new \
                    account: your address is then taken from the other one.
                    """)
        case .emailTaken:
            english(
                "Your {{service}} account has no email address any more",
                """
                The reader of the mailbox of your {{service}} account's address has made an account of their own with \
                it. You can sign in as before. Give your account another address in the app.
                """,
                warning: """
                    If this wasn't you, somebody else reads that mailbox now: give your account an address of your own. If \
                    it was, you have two accounts.
                    """)
        case .signedIn:
            english(
                "{{provider}} has opened your {{service}} account",
                """
                {{provider}} was linked to your {{service}} account before you confirmed your address, and somebody has \
                just signed in with it.
                """,
                warning: """
                    If this wasn't you, sign in to {{service}} with a code by mail, remove {{provider}} from the account \
                    and sign out all other devices.
                    """)
        case .identityLinked:
            english(
                "{{provider}} was linked to your {{service}} account",
                "From now on you can sign in to {{service}} with {{provider}}.",
                warning: """
                    If this wasn't you, somebody else is in your account: sign in to {{service}}, remove {{provider}} \
                    from the account, sign out all other devices and change your password.
                    """)
        case .identityUnlinked:
            english(
                "{{provider}} was removed from your {{service}} account",
                """
                {{provider}} no longer opens your {{service}} account. Devices that had signed in with it are signed out.
                """,
                warning: """
                    If this wasn't you, somebody else may be in your account: sign in to {{service}} in another way, sign \
                    out all other devices and change your password.
                    """)
        case .clientLinked:
            english(
                "Your {{service}} account is now linked to {{client}}",
                """
                {{client}} may use your {{service}} account from now on, in the way that was agreed to when it was linked. \
                You can end this at any time on the page of your {{service}} account.
                """,
                warning: """
                    If this wasn't you, somebody else is in your account: remove {{client}} on the page of your account, \
                    sign out all devices and change your password.
                    """)
        case .clientUnlinked:
            english(
                "Your {{service}} account is no longer linked to {{client}}",
                "{{client}} no longer has access to your {{service}} account.",
                warning: """
                    If this wasn't you, somebody else may be in your account: sign in to {{service}}, look at what is \
                    linked to it and sign out all other devices.
                    """)
        case .identityReplaced:
            english(
                "Your {{service}} account is now linked to another {{provider}} account",
                """
                From now on your {{service}} account is linked to another {{provider}} account. The one that was linked \
                before no longer opens it, and devices that had signed in with that one are signed out.
                """,
                warning: """
                    If this wasn't you, somebody else may be in your account: sign in to {{service}} with a code by mail, \
                    look at what is linked to the account and sign out all other devices.
                    """)
        case .passwordChanged:
            english(
                "The password of your {{service}} account was changed",
                "Your {{service}} account has a new password. Other devices are signed out.",
                warning: """
                    If this wasn't you, reset the password at {{service}} right away. The code for it will be mailed to \
                    you.
                    """)
        case .emailChangeRequested:
            english(
                "A new email address for your {{service}} account",
                """
                Somebody who is signed in to your {{service}} account wants to give it another email address. Nothing \
                changes until the new address is confirmed.
                """,
                warning: """
                    If this wasn't you, somebody else is in your account: reset the password at {{service}} right away, \
                    which signs out every device.
                    """)
        case .emailChanged:
            english(
                "The email address of your {{service}} account was changed",
                """
                Your {{service}} account has a new email address, which has been confirmed. From now on mail about the \
                account goes there, and no longer to this address.
                """,
                warning: "If this wasn't you, tell {{service}} at once: somebody else is in your account.")
        case .emailReplacementRequested:
            english(
                "The support of {{service}} is about to change your email address",
                """
                Somebody, we hope you, has lost access to the email address of your {{service}} account and asked its \
                support for another one. It takes the place of the old address in a day.
                """,
                warning: """
                    If this wasn't you, sign in to {{service}} and stop it there before the day is over, or contact the \
                    support of {{service}}.
                    """)
        }
    }

    private static func english(_ subject: String, _ paragraphs: String..., warning: String) -> BuiltInMail {
        BuiltInMail(subject: subject, greeting: "Hello,", paragraphs: paragraphs, warning: warning)
    }
}
