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
        }
    }

    private static func english(_ subject: String, _ paragraphs: String..., warning: String) -> BuiltInMail {
        BuiltInMail(subject: subject, greeting: "Hello,", paragraphs: paragraphs, warning: warning)
    }
}
