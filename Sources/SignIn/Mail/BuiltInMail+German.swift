import Accounts

extension BuiltInMail {
    @Sendable static func german(_ kind: Mail.Kind) -> BuiltInMail {
        switch kind {
        case .signInCode:
            german(
                "Ihr Anmeldecode für {{service}}",
                "mit diesem Code melden Sie sich bei {{service}} an:",
                "{{code}}",
                "Er gilt nur einmal und läuft in {{minutes}} min ab.",
                warning: """
                    Wenn Sie das nicht waren, hat jemand Ihre Adresse eingegeben: Sie können diese Mail ignorieren. Geben \
                    Sie den Code nicht weiter; niemand von {{service}} wird Sie je danach fragen.
                    """)
        case .bindCode:
            german(
                "Ihr Code zum Verknüpfen mit Ihrem Konto bei {{service}}",
                """
                jemand, hoffentlich Sie, hat sich auf neue Art bei {{service}} angemeldet und möchte das mit Ihrem Konto \
                verknüpfen. Dieser Code beweist, dass es Ihr Konto ist:
                """,
                "{{code}}",
                "Er gilt nur einmal und läuft in {{minutes}} min ab.",
                warning: """
                    Wenn Sie das nicht waren, ignorieren Sie diese Mail; dann wird nichts verknüpft. Geben Sie den Code \
                    nicht weiter: Wer ihn hat, kommt in Ihr Konto.
                    """)
        case .verifyEmailCode:
            german(
                "Bestätigen Sie Ihre E-Mail-Adresse für {{service}}",
                "dieser Code bestätigt die E-Mail-Adresse Ihres Kontos bei {{service}}:",
                "{{code}}",
                "Er gilt nur einmal und läuft in {{minutes}} min ab.",
                warning: """
                    Wenn Sie das nicht waren, hat jemand Ihre Adresse eingegeben: Ignorieren Sie diese Mail, dann bleibt \
                    die Adresse unbestätigt. Geben Sie den Code nicht weiter.
                    """)
        case .resetPasswordCode:
            german(
                "Ihr Code für ein neues Passwort bei {{service}}",
                "mit diesem Code wählen Sie ein neues Passwort für Ihr Konto bei {{service}}:",
                "{{code}}",
                "Er gilt nur einmal und läuft in {{minutes}} min ab. Alle Geräte müssen sich danach neu anmelden.",
                warning: """
                    Wenn Sie das nicht waren, ignorieren Sie diese Mail; Ihr Passwort bleibt, wie es ist. Geben Sie den \
                    Code nicht weiter: Wer ihn hat, kommt in Ihr Konto.
                    """)
        case .resetBySignIn:
            german(
                "Melden Sie sich bei {{service}} mit einem Code an",
                """
                jemand, hoffentlich Sie, möchte das Passwort Ihres Kontos bei {{service}} zurücksetzen. Ihre Adresse \
                wurde nie mit einem Code bestätigt. Melden Sie sich deshalb zuerst mit einem an: Fordern Sie in der App \
                einen Anmeldecode an. Danach können Sie ein Passwort wählen.
                """,
                warning: """
                    Wenn Sie das nicht waren, hat jemand Ihre Adresse eingegeben; Sie können diese Mail ignorieren.
                    """)
        case .accountCreated:
            german(
                "Ihre Adresse wird jetzt bei {{service}} verwendet",
                """
                jemand, hoffentlich Sie, hat sich bei {{service}} mit {{provider}} angemeldet und ein Konto mit dieser \
                Adresse angelegt.
                """,
                warning: """
                    Wenn Sie das nicht waren, fordern Sie in der App von {{service}} einen Anmeldecode an und wählen Sie \
                    ein neues Konto: Ihre Adresse wird dem anderen dann entzogen.
                    """)
        case .emailTaken:
            german(
                "Ihr Konto bei {{service}} hat keine E-Mail-Adresse mehr",
                """
                wer das Postfach der Adresse Ihres Kontos bei {{service}} liest, hat ein eigenes Konto damit angelegt. \
                Sie können sich weiter wie bisher anmelden. Geben Sie Ihrem Konto in der App eine andere Adresse.
                """,
                warning: """
                    Wenn Sie das nicht waren, liest jetzt jemand anderes dieses Postfach: Geben Sie Ihrem Konto eine \
                    eigene Adresse. Waren Sie es, haben Sie zwei Konten.
                    """)
        case .signedIn:
            german(
                "{{provider}} hat Ihr Konto bei {{service}} geöffnet",
                """
                {{provider}} war mit Ihrem Konto bei {{service}} verknüpft, bevor Sie Ihre Adresse bestätigt haben, und \
                jemand hat sich gerade damit angemeldet.
                """,
                warning: """
                    Wenn Sie das nicht waren, melden Sie sich bei {{service}} mit einem Code per Mail an, entfernen Sie \
                    {{provider}} aus dem Konto und melden Sie alle anderen Geräte ab.
                    """)
        case .identityLinked:
            german(
                "{{provider}} wurde mit Ihrem Konto bei {{service}} verknüpft",
                "ab jetzt können Sie sich bei {{service}} mit {{provider}} anmelden.",
                warning: """
                    Wenn Sie das nicht waren, ist jemand anderes in Ihrem Konto: Melden Sie sich bei {{service}} an, \
                    entfernen Sie {{provider}} aus dem Konto, melden Sie alle anderen Geräte ab und ändern Sie Ihr \
                    Passwort.
                    """)
        case .identityUnlinked:
            german(
                "{{provider}} wurde aus Ihrem Konto bei {{service}} entfernt",
                """
                {{provider}} öffnet Ihr Konto bei {{service}} nicht mehr. Geräte, die damit angemeldet waren, sind \
                abgemeldet.
                """,
                warning: """
                    Wenn Sie das nicht waren, ist vielleicht jemand anderes in Ihrem Konto: Melden Sie sich auf anderem \
                    Weg bei {{service}} an, melden Sie alle anderen Geräte ab und ändern Sie Ihr Passwort.
                    """)
        case .clientLinked:
            german(
                "Ihr Konto bei {{service}} ist jetzt mit {{client}} verknüpft",
                """
                {{client}} darf Ihr Konto bei {{service}} von nun an so nutzen, wie es beim Verknüpfen vereinbart wurde. \
                Sie können das jederzeit auf der Seite Ihres Kontos bei {{service}} beenden.
                """,
                warning: """
                    Wenn Sie das nicht waren, ist jemand anderes in Ihrem Konto: Entfernen Sie {{client}} auf der Seite \
                    Ihres Kontos, melden Sie alle Geräte ab und ändern Sie Ihr Passwort.
                    """)
        case .clientUnlinked:
            german(
                "Ihr Konto bei {{service}} ist nicht mehr mit {{client}} verknüpft",
                "{{client}} hat keinen Zugriff mehr auf Ihr Konto bei {{service}}.",
                warning: """
                    Wenn Sie das nicht waren, ist vielleicht jemand anderes in Ihrem Konto: Melden Sie sich bei \
                    {{service}} an, sehen Sie nach, was verknüpft ist, und melden Sie alle anderen Geräte ab.
                    """)
        case .identityReplaced:
            german(
                "Ihr Konto bei {{service}} ist jetzt mit einem anderen {{provider}}-Konto verknüpft",
                """
                ab jetzt ist Ihr Konto bei {{service}} mit einem anderen Konto von {{provider}} verknüpft. Das bisherige \
                öffnet es nicht mehr, und Geräte, die damit angemeldet waren, sind abgemeldet.
                """,
                warning: """
                    Wenn Sie das nicht waren, ist vielleicht jemand anderes in Ihrem Konto: Melden Sie sich bei \
                    {{service}} mit einem Code per Mail an, prüfen Sie, was mit dem Konto verknüpft ist, und melden Sie \
                    alle anderen Geräte ab.
                    """)
        case .passwordChanged:
            german(
                "Das Passwort Ihres Kontos bei {{service}} wurde geändert",
                "Ihr Konto bei {{service}} hat ein neues Passwort. Andere Geräte sind abgemeldet.",
                warning: """
                    Wenn Sie das nicht waren, setzen Sie das Passwort bei {{service}} sofort zurück. Den Code dafür \
                    bekommen Sie per Mail.
                    """)
        case .emailChangeRequested:
            german(
                "Eine neue E-Mail-Adresse für Ihr Konto bei {{service}}",
                """
                jemand, der in Ihrem Konto bei {{service}} angemeldet ist, möchte ihm eine andere E-Mail-Adresse geben. \
                Bis die neue Adresse bestätigt ist, ändert sich nichts.
                """,
                warning: """
                    Wenn Sie das nicht waren, ist jemand anderes in Ihrem Konto: Setzen Sie das Passwort bei {{service}} \
                    sofort zurück; das meldet alle Geräte ab.
                    """)
        case .emailChanged:
            german(
                "Die E-Mail-Adresse Ihres Kontos bei {{service}} wurde geändert",
                """
                Ihr Konto bei {{service}} hat eine neue, bestätigte E-Mail-Adresse. Ab jetzt gehen Mails zum Konto \
                dorthin und nicht mehr an diese Adresse.
                """,
                warning: """
                    Wenn Sie das nicht waren, wenden Sie sich sofort an {{service}}: Jemand anderes ist in Ihrem Konto.
                    """)
        case .emailReplacementRequested:
            german(
                "Der Support von {{service}} ändert bald Ihre E-Mail-Adresse",
                """
                jemand, hoffentlich Sie, hat keinen Zugang mehr zur E-Mail-Adresse Ihres Kontos bei {{service}} und den \
                Support um eine andere gebeten. Sie tritt in einem Tag an die Stelle der alten.
                """,
                warning: """
                    Wenn Sie das nicht waren, melden Sie sich vor Ablauf des Tages bei {{service}} an und brechen Sie es \
                    dort ab, oder wenden Sie sich an den Support von {{service}}.
                    """)
        }
    }

    private static func german(_ subject: String, _ paragraphs: String..., warning: String) -> BuiltInMail {
        BuiltInMail(subject: subject, greeting: "Hallo,", paragraphs: paragraphs, warning: warning)
    }
}
