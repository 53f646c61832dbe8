extension LanguageTexts {
    static let spanish = LanguageTexts(
        tag: "es",
        months: [
            "enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto", "septiembre", "octubre",
            "noviembre", "diciembre",
        ],
        text: spanish, error: spanish, failure: spanish)

    private static func spanish(_ text: PageText) -> String {
        switch text {
        case .title: "{{heading}} – {{service}}"
        case .errorTitle: "Error: {{heading}} – {{service}}"
        case .date: "{{day}} de {{month}} de {{year}}"
        case .privacy: "Privacidad"
        case .terms: "Condiciones"
        case .help: "Ayuda"
        case .cancel: "Cancelar"
        case .back: "Volver"
        case .signInTitle: "Iniciar sesión en {{app}}"
        case .continueToClient: "Después podrás vincular tu cuenta con {{client}}."
        case .continueWithApple: "Continuar con Apple"
        case .continueWithGoogle: "Continuar con Google"
        case .or: "o"
        case .email: "Correo electrónico"
        case .password: "Contraseña"
        case .signIn: "Iniciar sesión"
        case .emailMeACode: "Recibir un código por correo"
        case .codeTitle: "Iniciar sesión con un código"
        case .codeTitleBind: "Confirma tu cuenta con un código"
        case .codeTitleConfirmAddress: "Confirma tu correo electrónico"
        case .codeLead: "Te enviaremos por correo un código para iniciar sesión."
        case .codeLeadBind:
            "Escribe la dirección de tu cuenta de {{app}}. Te enviaremos un código que demuestra que la cuenta es tuya."
        case .codeLeadConfirmAddress:
            "{{client}} pide una dirección que hayas confirmado. Te enviaremos un código por correo."
        case .sendCode: "Enviarme un código"
        case .enterCodeTitle: "Escribe el código"
        case .codeSent: "Si existe una cuenta con {{email}}, te hemos enviado un código."
        case .codeSentConfirmAddress: "Hemos enviado un código a {{email}}."
        case .codeLife: "Vale durante 10 minutos."
        case .code: "Código"
        case .confirmCode: "Continuar"
        case .codeMissing: "¿No te ha llegado? Mira primero en la carpeta de spam."
        case .sendAnotherCode: "Enviar el código otra vez"
        case .linkTitle: "¿Ya tienes una cuenta?"
        case .signedInAs: "Has iniciado sesión con {{provider}} como {{email}}."
        case .notLinkedYet: "Ninguna cuenta de {{app}} usa todavía esta cuenta de {{provider}}."
        case .mailboxProven: "Has demostrado que {{email}} es tu dirección."
        case .holderExists: "Ya existe una cuenta con esta dirección."
        case .holderWays: "Se entra en ella con:"
        case .holderSince: "Cuenta creada el {{date}}"
        case .linkedOn: "Vinculada el {{date}}"
        case .useExisting: "Usar mi cuenta"
        case .useExistingHint: "Demuestras que es tuya y, desde entonces, entras en ella de las dos formas."
        case .createNew: "Soy nuevo aquí"
        case .createNewHint: "Una cuenta nueva, separada de la que ya existe."
        case .createTitle: "Crear una cuenta"
        case .askedBefore:
            "¿Has entrado antes en {{app}} de otra forma? Usa entonces esa cuenta para no acabar con dos."
        case .haveAccount: "Ya tengo una cuenta"
        case .displayName: "Tu nombre (opcional)"
        case .newPassword: "Contraseña (opcional)"
        case .newPasswordHint: "Al menos 8 caracteres. Sin contraseña, inicias sesión con un código por correo."
        case .takesAddress:
            "Esta cuenta pierde la dirección {{email}}, que pasa a la nueva. Sus otras formas de entrar no cambian."
        case .createAccount: "Crear cuenta"
        case .bindTitle: "Usa la cuenta que ya tienes"
        case .bindLead: "Demuestra que la cuenta es tuya. Después también podrás entrar en ella con {{provider}}."
        case .bindLeadMailbox: "Demuestra que la cuenta es tuya."
        case .codeWasRight: "El código era correcto."
        case .isThisYours: "¿Es esta tu cuenta?"
        case .thisIsMine: "Esta es mi cuenta"
        case .thisIsMineHint: "Tu dirección basta como prueba. Se cerrará la sesión en los demás dispositivos."
        case .linkAccount: "Usar esta cuenta"
        case .createInstead: "Crear una cuenta nueva"
        case .conflictTitle: "Hay otra cuenta de {{provider}} vinculada"
        case .conflictLead: "Tu cuenta ya está vinculada a esta cuenta de {{provider}}:"
        case .conflictHint:
            """
            Si la sustituyes, dejará de dar acceso a tu cuenta y se cerrará la sesión en los dispositivos que entraron \
            con ella.
            """
        case .passwordAgain: "Escribe tu contraseña otra vez"
        case .replace: "Sustituir"
        case .keep: "Conservar"
        case .consentTitle: "¿Vincular tu cuenta con {{client}}?"
        case .consentAccount: "Tu cuenta"
        case .useAnotherAccount: "Usar otra cuenta"
        case .consentScopes: "{{client}} pide:"
        case .scopeProfile: "Tu nombre"
        case .scopeEmail: "Tu correo electrónico"
        case .consentEnd: "Puedes desvincular {{client}} en cualquier momento en la página de tu cuenta."
        case .clientPrivacy: "Política de privacidad de {{client}}"
        case .missingEmailTitle: "A tu cuenta le falta un correo electrónico"
        case .missingEmailLead:
            """
            {{client}} pide una dirección que hayas confirmado. Tu cuenta no tiene ninguna, y desde aquí no se \
            pueden enviar correos para confirmarla. No se ha vinculado nada.
            """
        case .backToClient: "Volver a {{client}}"
        case .allow: "Permitir"
        case .deny: "Rechazar"
        case .openTitle: "Vuelve a {{app}}"
        case .openSignedIn: "Allí termina el inicio de sesión. Cuando se abra {{app}}, puedes cerrar esta página."
        case .openCancelled: "Has cancelado y no has iniciado sesión."
        case .openFailed: "No se ha podido iniciar sesión. Inténtalo otra vez en {{app}}."
        case .openApp: "Abrir {{app}}"
        case .flipTitle: "Abre este enlace en tu teléfono"
        case .flipLead:
            """
            Allí abre la aplicación que se vincula. Si ves esta página en el teléfono, instala o \
            actualiza la aplicación e inténtalo de nuevo.
            """
        case .signedOutTitle: "Has cerrado sesión"
        case .signedOutLead: "Puedes cerrar esta página."
        case .signInAgain: "Iniciar sesión otra vez"
        case .accountTitle: "Tu cuenta"
        case .waysToSignIn: "Formas de iniciar sesión"
        case .passwordIsSet: "Junto con tu correo electrónico"
        case .onlyWay: "Tu única forma de iniciar sesión: no se puede desvincular."
        case .noWays: "Un código por correo"
        case .unlinkProvider: "Desvincular {{provider}}"
        case .unlinkHint:
            """
            Lo que desvinculas deja de dar acceso a tu cuenta, y se cierra la sesión en los dispositivos que entraron \
            así.
            """
        case .linkedClients: "Aplicaciones y servicios vinculados"
        case .lastUsedOn: "Último uso: {{date}}"
        case .unlinkClient: "Desvincular {{client}}"
        case .signOut: "Cerrar sesión"
        case .unlinkedProvider: "{{provider}} ya no está vinculado."
        case .unlinkedClient: "{{client}} ya no está vinculado."
        case .unlinkProviderTitle: "¿Desvincular {{provider}}?"
        case .unlinkProviderLead:
            "{{provider}} ya no abrirá tu cuenta, y se cerrará la sesión en los dispositivos que la iniciaron así."
        case .unlinkSignsOut:
            "Aquí iniciaste sesión con {{provider}}, así que también se cerrará en este dispositivo."
        case .unlinkedSignsOut:
            "Aquí habías iniciado sesión con {{provider}}. Inicia sesión de otra manera para ver tu cuenta."
        case .unlinkClientTitle: "¿Desvincular {{client}}?"
        case .unlinkClientLead:
            "{{client}} perderá enseguida el acceso a tu cuenta. Puedes volver a vincularlo cuando quieras."
        case .tryAgain: "Intentar otra vez"
        case .reference: "Referencia para soporte: {{reference}}"
        }
    }

    private static func spanish(_ error: FormError) -> String {
        switch error {
        case .wrongPassword: "El correo electrónico o la contraseña no son correctos."
        case .wrongCode: "Este código no es correcto o ha caducado. Revísalo o pide otro."
        case .invalidEmail: "Escribe un correo electrónico como nombre@example.com."
        case .missingPassword: "Escribe tu contraseña."
        case .missingCode: "Escribe el código que te ha llegado por correo."
        case .weakPassword: "Elige otra contraseña: al menos 8 caracteres y que no sea de las habituales."
        case .invalidDisplayName: "Elige otro nombre o deja el campo vacío."
        case .emailTaken: "Ya existe una cuenta con esta dirección. Usa esa cuenta."
        case .identityAlreadyLinked: "Mientras tanto se ha vinculado a una cuenta. Inicia sesión otra vez."
        case .holderChanged: "Esta cuenta ha cambiado entretanto. Vuelve a mirarla."
        case .lastSignInMethod: "Es tu única forma de iniciar sesión. Vincula antes otra."
        case .accountDisabled: "Esta cuenta está desactivada. Contacta con el soporte de {{service}}."
        case .tooManyTries: "Demasiados intentos. Espera unos minutos y vuelve a intentarlo."
        case .mailUnavailable:
            "Ahora no podemos enviar correos. Inicia sesión de otra forma o vuelve a intentarlo más tarde."
        case .providerUnavailable:
            "Ahora no se puede contactar con el proveedor. Inténtalo otra vez o inicia sesión de otra forma."
        case .providerRefused:
            "No se ha podido confirmar el inicio de sesión. Inténtalo otra vez o inicia sesión de otra forma."
        case .cancelledAtProvider: "Has cancelado. Inténtalo de nuevo o elige otra forma."
        case .otherIdentity:
            "Con ese inicio de sesión no se entra en esta cuenta. Usa otro, o demuestra de otra forma que es tuya."
        }
    }

    private static func spanish(_ failure: FailurePage.Failure) -> FailureText {
        switch failure {
        case .unknownApp:
            FailureText(
                "Esta aplicación no está registrada aquí",
                """
                No conocemos la aplicación de la que vienes, o ha dado una dirección que no es suya. Actualízala e \
                inténtalo otra vez; si no sirve, contacta con quien la hace.
                """)
        case .unknownClient:
            FailureText(
                "Este servicio no está registrado aquí",
                """
                No conocemos el servicio del que vienes, o ha dado una dirección que no es suya. Vuelve atrás e inténtalo \
                otra vez; si no sirve, contacta con su soporte.
                """)
        case .invalidRequest:
            FailureText("Este enlace no funciona", "Le falta algo o tiene un error. Vuelve atrás y empieza de nuevo.")
        case .flowExpired:
            FailureText(
                "Este inicio de sesión ha caducado",
                "Vuelve a donde empezaste y comienza de nuevo. Si no sirve, permite las cookies de este sitio.")
        case .anotherBrowser:
            FailureText(
                "Este inicio de sesión empezó en otro navegador",
                "Continúa en el navegador en el que empezaste, o comienza de nuevo aquí.")
        case .answerRefused:
            FailureText(
                "No se ha podido confirmar el inicio de sesión",
                """
                La respuesta del proveedor no era correcta o llegó tarde; no se ha cambiado nada. Vuelve atrás y empieza \
                de nuevo.
                """)
        case .formExpired:
            FailureText("Esta página ha caducado", "Vuelve atrás, recarga la página e inténtalo otra vez.")
        case .reauthenticationRequired:
            FailureText("Inicia sesión otra vez", "Antes de cambiar tu cuenta, tenemos que saber que eres tú.")
        case .accountDisabled:
            FailureText("Esta cuenta está desactivada", "Contacta con el soporte de {{service}}.")
        case .tooManyRequests:
            FailureText("Demasiados intentos", "Espera unos minutos y vuelve a intentarlo.")
        case .notFound:
            FailureText("Página no encontrada", "Revisa la dirección o vuelve a donde estabas.")
        case .methodNotAllowed:
            FailureText("Esta página no se abre así", "Vuelve a donde estabas e inténtalo otra vez.")
        case .unavailable:
            FailureText("Ahora no se puede iniciar sesión", "Inténtalo otra vez en unos minutos.")
        case .internalError:
            FailureText("Algo ha fallado", "El error es nuestro. Inténtalo otra vez en unos minutos.")
        }
    }
}
