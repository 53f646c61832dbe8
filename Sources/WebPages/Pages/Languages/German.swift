extension LanguageTexts {
    static let german = LanguageTexts(
        tag: "de",
        months: [
            "Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September", "Oktober", "November",
            "Dezember",
        ],
        text: german, error: german, failure: german)

    private static func german(_ text: PageText) -> String {
        switch text {
        case .title: "{{heading}} – {{service}}"
        case .errorTitle: "Fehler: {{heading}} – {{service}}"
        case .date: "{{day}}. {{month}} {{year}}"
        case .privacy: "Datenschutz"
        case .terms: "Nutzungsbedingungen"
        case .help: "Hilfe"
        case .cancel: "Abbrechen"
        case .back: "Zurück"
        case .signInTitle: "Bei {{app}} anmelden"
        case .continueToClient: "Danach können Sie Ihr Konto mit {{client}} verknüpfen."
        case .continueWithApple: "Mit Apple fortfahren"
        case .continueWithGoogle: "Weiter mit Google"
        case .or: "oder"
        case .email: "E-Mail-Adresse"
        case .password: "Passwort"
        case .signIn: "Anmelden"
        case .emailMeACode: "Code per E-Mail erhalten"
        case .codeTitle: "Mit einem Code anmelden"
        case .codeTitleBind: "Konto mit einem Code bestätigen"
        case .codeTitleConfirmAddress: "E-Mail-Adresse bestätigen"
        case .codeLead: "Wir schicken Ihnen einen Code, mit dem Sie sich anmelden."
        case .codeLeadBind:
            """
            Geben Sie die Adresse Ihres Kontos bei {{app}} ein. Wir schicken dorthin einen Code, der bestätigt, dass das \
            Konto Ihnen gehört.
            """
        case .codeLeadConfirmAddress:
            "{{client}} braucht eine Adresse, die Sie bestätigt haben. Wir schicken Ihnen einen Code."
        case .sendCode: "Code senden"
        case .enterCodeTitle: "Code eingeben"
        case .codeSent: "Wenn es ein Konto mit {{email}} gibt, haben wir einen Code dorthin geschickt."
        case .codeSentConfirmAddress: "Wir haben einen Code an {{email}} geschickt."
        case .codeLife: "Er gilt 10 Minuten."
        case .code: "Code"
        case .confirmCode: "Weiter"
        case .codeMissing: "Keine Mail bekommen? Sehen Sie zuerst im Spam-Ordner nach."
        case .sendAnotherCode: "Code noch einmal senden"
        case .linkTitle: "Haben Sie schon ein Konto?"
        case .signedInAs: "Sie haben sich mit {{provider}} als {{email}} angemeldet."
        case .notLinkedYet: "Dieses {{provider}}-Konto gehört noch zu keinem Konto bei {{app}}."
        case .mailboxProven: "Sie haben bestätigt, dass {{email}} Ihre Adresse ist."
        case .holderExists: "Es gibt schon ein Konto mit dieser Adresse."
        case .holderWays: "Es wird geöffnet mit:"
        case .holderSince: "Konto seit {{date}}"
        case .linkedOn: "Verknüpft am {{date}}"
        case .useExisting: "Vorhandenes Konto verwenden"
        case .useExistingHint:
            "Sie zeigen, dass es Ihres ist. Danach führen beide Wege in dasselbe Konto."
        case .createNew: "Ich bin neu hier"
        case .createNewHint: "Ein neues Konto, getrennt vom vorhandenen."
        case .createTitle: "Konto erstellen"
        case .askedBefore:
            """
            Haben Sie sich früher schon auf andere Weise bei {{app}} angemeldet? Dann verwenden Sie dieses Konto, damit \
            Sie am Ende nicht zwei haben.
            """
        case .haveAccount: "Ich habe schon ein Konto"
        case .displayName: "Ihr Name (freiwillig)"
        case .newPassword: "Passwort (freiwillig)"
        case .newPasswordHint: "Mindestens 8 Zeichen. Ohne Passwort melden Sie sich mit einem Code per E-Mail an."
        case .takesAddress:
            "Dieses Konto verliert die Adresse {{email}} an das neue. Seine anderen Anmeldewege bleiben, wie sie sind."
        case .createAccount: "Konto erstellen"
        case .bindTitle: "Vorhandenes Konto verwenden"
        case .bindLead:
            "Zeigen Sie, dass das Konto Ihnen gehört. Danach können Sie es auch mit {{provider}} öffnen."
        case .bindLeadMailbox: "Zeigen Sie, dass das Konto Ihnen gehört."
        case .codeWasRight: "Der Code war richtig."
        case .isThisYours: "Ist das Ihr Konto?"
        case .thisIsMine: "Das ist mein Konto"
        case .thisIsMineHint: "Ihre Adresse genügt als Nachweis. Alle anderen Geräte werden abgemeldet."
        case .linkAccount: "Dieses Konto verwenden"
        case .createInstead: "Stattdessen ein neues Konto erstellen"
        case .conflictTitle: "Ein anderes {{provider}}-Konto ist verknüpft"
        case .conflictLead: "Ihr Konto ist schon mit diesem {{provider}}-Konto verknüpft:"
        case .conflictHint:
            """
            Wenn Sie es ersetzen, öffnet es Ihr Konto nicht mehr, und Geräte, die damit angemeldet sind, werden \
            abgemeldet.
            """
        case .passwordAgain: "Passwort noch einmal eingeben"
        case .replace: "Ersetzen"
        case .keep: "Behalten"
        case .consentTitle: "Ihr Konto mit {{client}} verknüpfen?"
        case .consentAccount: "Ihr Konto"
        case .useAnotherAccount: "Anderes Konto verwenden"
        case .consentScopes: "{{client}} möchte Zugriff auf:"
        case .scopeProfile: "Ihren Namen"
        case .scopeEmail: "Ihre E-Mail-Adresse"
        case .consentEnd: "Auf Ihrer Kontoseite können Sie die Verknüpfung mit {{client}} jederzeit aufheben."
        case .clientPrivacy: "Datenschutzerklärung von {{client}}"
        case .missingEmailTitle: "Ihrem Konto fehlt eine E-Mail-Adresse"
        case .missingEmailLead:
            """
            {{client}} braucht eine Adresse, die Sie bestätigt haben. Ihr Konto hat keine, und von hier können \
            keine E-Mails verschickt werden, um eine zu bestätigen. Es wurde nichts verknüpft.
            """
        case .backToClient: "Zurück zu {{client}}"
        case .allow: "Zulassen"
        case .deny: "Ablehnen"
        case .openTitle: "Zurück zu {{app}}"
        case .openSignedIn:
            "Dort schließen Sie die Anmeldung ab. Sobald {{app}} offen ist, können Sie diese Seite schließen."
        case .openCancelled: "Sie haben abgebrochen und sind nicht angemeldet."
        case .openFailed: "Die Anmeldung hat nicht geklappt. Versuchen Sie es in {{app}} noch einmal."
        case .openApp: "{{app}} öffnen"
        case .flipTitle: "Öffnen Sie diesen Link auf Ihrem Telefon"
        case .flipLead:
            """
            Dort öffnet er die App, die verknüpft wird. Wenn Sie diese Seite auf dem Telefon sehen, \
            installieren oder aktualisieren Sie die App und versuchen Sie es noch einmal.
            """
        case .signedOutTitle: "Sie sind abgemeldet"
        case .signedOutLead: "Sie können diese Seite schließen."
        case .signInAgain: "Wieder anmelden"
        case .accountTitle: "Ihr Konto"
        case .waysToSignIn: "Anmeldewege"
        case .passwordIsSet: "Zusammen mit Ihrer E-Mail-Adresse"
        case .onlyWay: "Ihr einziger Anmeldeweg: Er lässt sich nicht entfernen."
        case .noWays: "Ein Code per E-Mail"
        case .unlinkProvider: "{{provider}} entfernen"
        case .unlinkHint:
            "Was Sie entfernen, öffnet Ihr Konto nicht mehr, und Geräte, die damit angemeldet sind, werden abgemeldet."
        case .linkedClients: "Verknüpfte Apps und Dienste"
        case .lastUsedOn: "Zuletzt verwendet am {{date}}"
        case .unlinkClient: "{{client}} entfernen"
        case .signOut: "Abmelden"
        case .unlinkedProvider: "{{provider}} wurde entfernt."
        case .unlinkedClient: "{{client}} wurde entfernt."
        case .unlinkProviderTitle: "{{provider}} entfernen?"
        case .unlinkProviderLead:
            "{{provider}} öffnet Ihr Konto dann nicht mehr, und Geräte, die damit angemeldet sind, werden abgemeldet."
        case .unlinkSignsOut: "Sie sind hier mit {{provider}} angemeldet, darum wird auch dieses Gerät abgemeldet."
        case .unlinkedSignsOut:
            "Sie waren hier mit {{provider}} angemeldet. Melden Sie sich auf andere Weise an, um Ihr Konto zu sehen."
        case .unlinkClientTitle: "{{client}} entfernen?"
        case .unlinkClientLead:
            "{{client}} verliert sofort den Zugriff auf Ihr Konto. Sie können die Verknüpfung jederzeit neu anlegen."
        case .tryAgain: "Noch einmal versuchen"
        case .reference: "Kennung für den Support: {{reference}}"
        }
    }

    private static func german(_ error: FormError) -> String {
        switch error {
        case .wrongPassword: "Die E-Mail-Adresse oder das Passwort ist falsch."
        case .wrongCode:
            "Dieser Code ist falsch oder abgelaufen. Prüfen Sie ihn, oder lassen Sie sich einen neuen senden."
        case .invalidEmail: "Geben Sie eine E-Mail-Adresse wie name@example.com ein."
        case .missingPassword: "Geben Sie Ihr Passwort ein."
        case .missingCode: "Geben Sie den Code aus der Mail ein."
        case .weakPassword: "Wählen Sie ein anderes Passwort: mindestens 8 Zeichen und kein verbreitetes."
        case .invalidDisplayName: "Wählen Sie einen anderen Namen, oder lassen Sie ihn weg."
        case .emailTaken: "Es gibt schon ein Konto mit dieser Adresse. Verwenden Sie dieses Konto."
        case .identityAlreadyLinked:
            "Diese Anmeldung wurde inzwischen mit einem Konto verknüpft. Melden Sie sich noch einmal an."
        case .holderChanged: "Dieses Konto hat sich inzwischen geändert. Sehen Sie es sich noch einmal an."
        case .lastSignInMethod: "Das ist Ihr einziger Anmeldeweg. Verknüpfen Sie zuerst einen anderen."
        case .accountDisabled: "Dieses Konto ist gesperrt. Wenden Sie sich an den Support von {{service}}."
        case .tooManyTries: "Zu viele Versuche. Warten Sie ein paar Minuten, und versuchen Sie es dann noch einmal."
        case .mailUnavailable:
            "Wir können gerade keine Mails senden. Melden Sie sich auf anderem Weg an, oder versuchen Sie es später."
        case .providerUnavailable:
            """
            Der Anbieter ist gerade nicht erreichbar. Versuchen Sie es noch einmal, oder melden Sie sich auf anderem Weg \
            an.
            """
        case .providerRefused:
            """
            Die Anmeldung konnte nicht bestätigt werden. Versuchen Sie es noch einmal, oder melden Sie sich auf anderem \
            Weg an.
            """
        case .cancelledAtProvider: "Sie haben abgebrochen. Versuchen Sie es erneut, oder wählen Sie einen anderen Weg."
        case .otherIdentity:
            "Diese Anmeldung öffnet das Konto nicht. Wählen Sie eine andere oder einen anderen Nachweis."
        }
    }

    private static func german(_ failure: FailurePage.Failure) -> FailureText {
        switch failure {
        case .unknownApp:
            FailureText(
                "Diese App ist hier nicht registriert",
                """
                Die App, aus der Sie kommen, ist nicht bekannt oder hat eine fremde Adresse angegeben. Aktualisieren Sie \
                sie und versuchen Sie es noch einmal; hilft das nicht, wenden Sie sich an ihren Hersteller.
                """)
        case .unknownClient:
            FailureText(
                "Dieser Dienst ist hier nicht registriert",
                """
                Der Dienst, von dem Sie kommen, ist nicht bekannt oder hat eine fremde Adresse angegeben. Gehen Sie \
                zurück und versuchen Sie es noch einmal; hilft das nicht, wenden Sie sich an seinen Support.
                """)
        case .invalidRequest:
            FailureText(
                "Dieser Link funktioniert nicht",
                "Etwas darin fehlt oder ist falsch. Gehen Sie zurück und beginnen Sie von vorn.")
        case .flowExpired:
            FailureText(
                "Diese Anmeldung ist abgelaufen",
                """
                Gehen Sie dorthin zurück, wo Sie begonnen haben, und beginnen Sie von vorn. Hilft das nicht, erlauben Sie \
                Cookies für diese Seite.
                """)
        case .anotherBrowser:
            FailureText(
                "Diese Anmeldung wurde in einem anderen Browser begonnen",
                "Machen Sie dort weiter, wo Sie begonnen haben, oder beginnen Sie hier von vorn.")
        case .answerRefused:
            FailureText(
                "Die Anmeldung konnte nicht bestätigt werden",
                """
                Die Antwort des Anbieters war falsch oder kam zu spät; geändert wurde nichts. Gehen Sie zurück und \
                beginnen Sie von vorn.
                """)
        case .formExpired:
            FailureText(
                "Diese Seite ist abgelaufen",
                "Gehen Sie zurück, laden Sie die Seite neu und versuchen Sie es noch einmal.")
        case .reauthenticationRequired:
            FailureText(
                "Bitte melden Sie sich noch einmal an",
                "Bevor Ihr Konto geändert wird, müssen wir wissen, dass Sie es sind.")
        case .accountDisabled:
            FailureText("Dieses Konto ist gesperrt", "Wenden Sie sich an den Support von {{service}}.")
        case .tooManyRequests:
            FailureText("Zu viele Versuche", "Warten Sie ein paar Minuten, und versuchen Sie es dann noch einmal.")
        case .notFound:
            FailureText(
                "Seite nicht gefunden",
                "Prüfen Sie die Adresse, oder gehen Sie dorthin zurück, woher Sie kamen.")
        case .methodNotAllowed:
            FailureText(
                "So lässt sich diese Seite nicht öffnen",
                "Gehen Sie dorthin zurück, woher Sie kamen, und versuchen Sie es noch einmal.")
        case .unavailable:
            FailureText("Die Anmeldung ist gerade nicht möglich", "Versuchen Sie es in ein paar Minuten noch einmal.")
        case .internalError:
            FailureText(
                "Etwas ist schiefgegangen",
                "Der Fehler liegt bei uns. Versuchen Sie es in ein paar Minuten noch einmal.")
        }
    }
}
