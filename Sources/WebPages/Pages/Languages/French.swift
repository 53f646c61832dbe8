extension LanguageTexts {
    static let french = LanguageTexts(
        tag: "fr",
        months: [
            "janvier", "février", "mars", "avril", "mai", "juin", "juillet", "août", "septembre", "octobre",
            "novembre", "décembre",
        ],
        text: french, error: french, failure: french)

    private static func french(_ text: PageText) -> String {
        switch text {
        case .title: "{{heading}} – {{service}}"
        case .errorTitle: "Erreur\u{A0}: {{heading}} – {{service}}"
        case .date: "{{day}} {{month}} {{year}}"
        case .privacy: "Confidentialité"
        case .terms: "Conditions d’utilisation"
        case .help: "Aide"
        case .cancel: "Annuler"
        case .back: "Retour"
        case .signInTitle: "Se connecter à {{app}}"
        case .continueToClient: "Vous pourrez ensuite associer votre compte à {{client}}."
        case .continueWithApple: "Continuer avec Apple"
        case .continueWithGoogle: "Continuer avec Google"
        case .or: "ou"
        case .email: "Adresse e-mail"
        case .password: "Mot de passe"
        case .signIn: "Se connecter"
        case .emailMeACode: "Recevoir un code par e-mail"
        case .codeTitle: "Se connecter avec un code"
        case .codeTitleBind: "Confirmer votre compte avec un code"
        case .codeTitleConfirmAddress: "Confirmer votre adresse e-mail"
        case .codeLead: "Nous vous enverrons par e-mail un code de connexion."
        case .codeLeadBind:
            "Saisissez l’adresse de votre compte {{app}}. Nous y enverrons un code qui prouve que ce compte est le vôtre."
        case .codeLeadConfirmAddress:
            "{{client}} demande une adresse que vous avez confirmée. Nous vous enverrons un code par e-mail."
        case .sendCode: "M’envoyer un code"
        case .enterCodeTitle: "Saisir le code"
        case .codeSent: "S’il existe un compte pour {{email}}, un code vient d’y être envoyé."
        case .codeSentConfirmAddress: "Un code vient d’être envoyé à {{email}}."
        case .codeLife: "Il est valable 10 minutes."
        case .code: "Code"
        case .confirmCode: "Continuer"
        case .codeMissing: "Rien reçu\u{202F}? Regardez d’abord dans vos courriers indésirables."
        case .sendAnotherCode: "Renvoyer le code"
        case .linkTitle: "Avez-vous déjà un compte\u{202F}?"
        case .signedInAs: "Vous vous êtes connecté avec {{provider}} en tant que {{email}}."
        case .notLinkedYet: "Aucun compte {{app}} n’utilise encore ce compte {{provider}}."
        case .mailboxProven: "Vous avez prouvé que l’adresse {{email}} est la vôtre."
        case .holderExists: "Il existe déjà un compte avec cette adresse."
        case .holderWays: "On y accède avec\u{A0}:"
        case .holderSince: "Compte créé le {{date}}"
        case .linkedOn: "Associé le {{date}}"
        case .useExisting: "Utiliser mon compte existant"
        case .useExistingHint:
            "Vous montrez qu’il est à vous\u{202F}; les deux moyens de connexion mènent ensuite au même compte."
        case .createNew: "Je suis nouveau ici"
        case .createNewHint: "Un nouveau compte, distinct du compte existant."
        case .createTitle: "Créer un compte"
        case .askedBefore:
            """
            Vous êtes-vous déjà connecté à {{app}} d’une autre manière\u{202F}? Utilisez alors ce compte, pour ne pas en \
            avoir deux.
            """
        case .haveAccount: "J’ai déjà un compte"
        case .displayName: "Votre nom (facultatif)"
        case .newPassword: "Mot de passe (facultatif)"
        case .newPasswordHint: "Au moins 8 caractères. Sans mot de passe, vous vous connectez avec un code par e-mail."
        case .takesAddress:
            "Ce compte perd l’adresse {{email}} au profit du nouveau. Ses autres moyens de connexion ne changent pas."
        case .createAccount: "Créer le compte"
        case .bindTitle: "Utiliser votre compte existant"
        case .bindLead:
            "Montrez que ce compte est le vôtre. Vous pourrez ensuite y accéder aussi avec {{provider}}."
        case .bindLeadMailbox: "Montrez que ce compte est le vôtre."
        case .codeWasRight: "Le code était correct."
        case .isThisYours: "Est-ce votre compte\u{202F}?"
        case .thisIsMine: "C’est mon compte"
        case .thisIsMineHint: "Votre adresse suffit comme preuve. Tous les autres appareils seront déconnectés."
        case .linkAccount: "Utiliser ce compte"
        case .createInstead: "Créer plutôt un compte"
        case .conflictTitle: "Un autre compte {{provider}} est associé"
        case .conflictLead: "Votre compte est déjà associé à ce compte {{provider}}\u{A0}:"
        case .conflictHint:
            """
            Si vous le remplacez, il ne donnera plus accès à votre compte et les appareils connectés avec lui seront \
            déconnectés.
            """
        case .passwordAgain: "Saisissez de nouveau votre mot de passe"
        case .replace: "Remplacer"
        case .keep: "Conserver"
        case .consentTitle: "Associer votre compte à {{client}}\u{202F}?"
        case .consentAccount: "Votre compte"
        case .useAnotherAccount: "Utiliser un autre compte"
        case .consentScopes: "{{client}} demande\u{A0}:"
        case .scopeProfile: "Votre nom"
        case .scopeEmail: "Votre adresse e-mail"
        case .consentEnd: "Vous pouvez dissocier {{client}} à tout moment sur la page de votre compte."
        case .clientPrivacy: "Règles de confidentialité de {{client}}"
        case .missingEmailTitle: "Il manque une adresse e-mail à votre compte"
        case .missingEmailLead:
            """
            {{client}} demande une adresse que vous avez confirmée. Votre compte n’en a pas, et aucun e-mail \
            ne peut être envoyé d’ici pour en confirmer une. Rien n’a été associé.
            """
        case .backToClient: "Retourner à {{client}}"
        case .allow: "Autoriser"
        case .deny: "Refuser"
        case .openTitle: "Retourner dans {{app}}"
        case .openSignedIn: "La connexion s’achève là-bas. Une fois {{app}} ouverte, vous pouvez fermer cette page."
        case .openCancelled: "Vous avez annulé et n’êtes pas connecté."
        case .openFailed: "La connexion a échoué. Réessayez dans {{app}}."
        case .openApp: "Ouvrir {{app}}"
        case .flipTitle: "Ouvrez ce lien sur votre téléphone"
        case .flipLead:
            """
            Il y ouvre l’application à associer. Si vous voyez cette page sur votre téléphone, \
            installez ou mettez à jour l’application, puis réessayez.
            """
        case .signedOutTitle: "Vous êtes déconnecté"
        case .signedOutLead: "Vous pouvez fermer cette page."
        case .signInAgain: "Se reconnecter"
        case .accountTitle: "Votre compte"
        case .waysToSignIn: "Moyens de connexion"
        case .passwordIsSet: "Avec votre adresse e-mail"
        case .onlyWay: "Votre seul moyen de connexion\u{A0}: il ne peut pas être dissocié."
        case .noWays: "Un code par e-mail"
        case .unlinkProvider: "Dissocier {{provider}}"
        case .unlinkHint:
            "Ce que vous dissociez ne donne plus accès à votre compte, et les appareils connectés ainsi sont déconnectés."
        case .linkedClients: "Applications et services associés"
        case .lastUsedOn: "Dernière utilisation le {{date}}"
        case .unlinkClient: "Dissocier {{client}}"
        case .signOut: "Se déconnecter"
        case .unlinkedProvider: "{{provider}} n’est plus associé."
        case .unlinkedClient: "{{client}} n’est plus associé."
        case .unlinkProviderTitle: "Dissocier {{provider}}\u{A0}?"
        case .unlinkProviderLead:
            "{{provider}} ne donnera plus accès à votre compte, et les appareils connectés ainsi seront déconnectés."
        case .unlinkSignsOut:
            "Vous êtes connecté ici avec {{provider}}\u{A0}: cet appareil sera donc aussi déconnecté."
        case .unlinkedSignsOut:
            "Vous étiez connecté ici avec {{provider}}. Connectez-vous autrement pour voir votre compte."
        case .unlinkClientTitle: "Dissocier {{client}}\u{A0}?"
        case .unlinkClientLead:
            "{{client}} perdra aussitôt l’accès à votre compte. Vous pourrez l’associer de nouveau à tout moment."
        case .tryAgain: "Réessayer"
        case .reference: "Référence pour l’assistance\u{A0}: {{reference}}"
        }
    }

    private static func french(_ error: FormError) -> String {
        switch error {
        case .wrongPassword: "L’adresse e-mail ou le mot de passe est incorrect."
        case .wrongCode: "Ce code est incorrect ou a expiré. Vérifiez-le ou demandez-en un nouveau."
        case .invalidEmail: "Saisissez une adresse e-mail du type nom@example.com."
        case .missingPassword: "Saisissez votre mot de passe."
        case .missingCode: "Saisissez le code reçu par e-mail."
        case .weakPassword:
            "Choisissez un autre mot de passe\u{A0}: au moins 8 caractères, et pas un mot de passe courant."
        case .invalidDisplayName: "Choisissez un autre nom ou laissez ce champ vide."
        case .emailTaken: "Il existe déjà un compte avec cette adresse. Utilisez ce compte."
        case .identityAlreadyLinked:
            "Ce moyen de connexion a été associé à un compte entre-temps. Connectez-vous de nouveau."
        case .holderChanged: "Ce compte a changé entre-temps. Vérifiez-le de nouveau."
        case .lastSignInMethod: "C’est votre seul moyen de connexion. Associez-en d’abord un autre."
        case .accountDisabled: "Ce compte est désactivé. Contactez l’assistance de {{service}}."
        case .tooManyTries: "Trop de tentatives. Patientez quelques minutes, puis réessayez."
        case .mailUnavailable:
            "Nous ne pouvons pas envoyer d’e-mail pour le moment. Connectez-vous autrement ou réessayez plus tard."
        case .providerUnavailable:
            "Le fournisseur est injoignable pour le moment. Réessayez ou connectez-vous autrement."
        case .providerRefused: "La connexion n’a pas pu être confirmée. Réessayez ou connectez-vous autrement."
        case .cancelledAtProvider: "Vous avez annulé. Réessayez, ou choisissez un autre moyen."
        case .otherIdentity:
            "Cette connexion n’ouvre pas ce compte. Choisissez-en une autre, ou une autre preuve."
        }
    }

    private static func french(_ failure: FailurePage.Failure) -> FailureText {
        switch failure {
        case .unknownApp:
            FailureText(
                "Cette application n’est pas enregistrée ici",
                """
                L’application d’où vous venez est inconnue ou a indiqué une adresse qui n’est pas la sienne. Mettez-la à \
                jour et réessayez\u{202F}; si cela ne suffit pas, contactez son éditeur.
                """)
        case .unknownClient:
            FailureText(
                "Ce service n’est pas enregistré ici",
                """
                Le service d’où vous venez est inconnu ou a indiqué une adresse qui n’est pas la sienne. Revenez en \
                arrière et réessayez\u{202F}; si cela ne suffit pas, contactez son assistance.
                """)
        case .invalidRequest:
            FailureText(
                "Ce lien ne fonctionne pas",
                "Il y manque quelque chose, ou une partie est incorrecte. Revenez en arrière et recommencez.")
        case .flowExpired:
            FailureText(
                "Cette connexion a expiré",
                "Revenez à votre point de départ et recommencez. Si cela ne suffit pas, autorisez les cookies du site.")
        case .anotherBrowser:
            FailureText(
                "Cette connexion a commencé dans un autre navigateur",
                "Continuez dans le navigateur où vous avez commencé, ou recommencez ici.")
        case .answerRefused:
            FailureText(
                "La connexion n’a pas pu être confirmée",
                """
                La réponse du fournisseur était incorrecte ou tardive\u{202F}; rien n’a été modifié. Revenez en arrière et \
                recommencez.
                """)
        case .formExpired:
            FailureText("Cette page a expiré", "Revenez en arrière, rechargez la page et réessayez.")
        case .reauthenticationRequired:
            FailureText(
                "Veuillez vous reconnecter", "Avant de modifier votre compte, nous devons savoir que c’est bien vous.")
        case .accountDisabled:
            FailureText("Ce compte est désactivé", "Contactez l’assistance de {{service}}.")
        case .tooManyRequests:
            FailureText("Trop de tentatives", "Patientez quelques minutes, puis réessayez.")
        case .notFound:
            FailureText("Page introuvable", "Vérifiez l’adresse ou revenez d’où vous venez.")
        case .methodNotAllowed:
            FailureText("Cette page ne s’ouvre pas ainsi", "Revenez d’où vous venez et réessayez.")
        case .unavailable:
            FailureText("La connexion est impossible pour le moment", "Réessayez dans quelques minutes.")
        case .internalError:
            FailureText("Un problème est survenu", "L’erreur vient de nous. Réessayez dans quelques minutes.")
        }
    }
}
