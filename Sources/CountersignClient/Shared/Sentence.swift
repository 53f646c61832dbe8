/// What an error says to a person, in the languages of the server's pages.
enum Sentence: Int, CaseIterable {
    case signInAgain
    case unreachable
    case busy
    case misconfigured
    case notStored
    case cancelled
    case wrongCredentials
    case notAccepted
    case disabled
    case notFresh
    case emailTaken
    case alreadyLinked
    case otherLinked
    case onlyWay
    case expired
    case weakPassword
    case gone
    case invalid
    case refused

    /// The tags of the languages, and the sentences in the order of the cases. The first language is the default one.
    static let languages: [(tag: String, sentences: [String])] = [
        (
            "en",
            [
                "Please sign in again.",
                "The service can’t be reached right now. Please try again in a moment.",
                "That isn’t possible right now. Please try again later.",
                "This app isn’t set up correctly. Please report this to its support.",
                "This device can’t keep you signed in right now. Unlock it, and try again.",
                "That was cancelled.",
                "That isn’t right. Check what you entered, and try again.",
                "This sign-in wasn’t accepted. Please try again.",
                "This account can’t be used. Sign in another way, or contact support.",
                "Please sign in once more to do this.",
                "Another account has this address.",
                "This is linked to an account already.",
                "Your account has another sign-in of this kind. Remove that one first.",
                "This is your only way to sign in. Add another one first.",
                "This sign-in has expired. Please begin again.",
                "Choose another password: at least 8 characters, and not one that is easy to guess.",
                "This isn’t there any more.",
                "Something that you entered can’t be used. Check it, and try again.",
                "That didn’t work. Please contact support if it happens again.",
            ]
        ),
        (
            "de",
            [
                "Bitte melden Sie sich wieder an.",
                "Der Dienst ist gerade nicht erreichbar. Bitte versuchen Sie es gleich noch einmal.",
                "Das geht im Moment nicht. Bitte versuchen Sie es später noch einmal.",
                "Diese App ist nicht richtig eingerichtet. Bitte melden Sie das ihrem Support.",
                "Dieses Gerät kann die Anmeldung gerade nicht speichern. Entsperren Sie es für einen neuen Versuch.",
                "Das wurde abgebrochen.",
                "Das stimmt nicht. Prüfen Sie Ihre Eingabe und versuchen Sie es noch einmal.",
                "Diese Anmeldung wurde nicht angenommen. Bitte versuchen Sie es noch einmal.",
                "Dieses Konto ist gesperrt. Melden Sie sich auf andere Weise an oder wenden Sie sich an den Support.",
                "Bitte melden Sie sich dafür noch einmal an.",
                "Diese Adresse gehört zu einem anderen Konto.",
                "Das ist schon mit einem Konto verknüpft.",
                "Ihr Konto hat schon einen anderen Anmeldeweg dieser Art. Entfernen Sie ihn zuerst.",
                "Das ist Ihr einziger Anmeldeweg. Fügen Sie zuerst einen anderen hinzu.",
                "Diese Anmeldung ist abgelaufen. Bitte beginnen Sie noch einmal.",
                "Wählen Sie ein anderes Passwort: mindestens 8 Zeichen und nicht leicht zu erraten.",
                "Das gibt es nicht mehr.",
                "Eine Ihrer Eingaben lässt sich nicht verwenden. Prüfen Sie sie und versuchen Sie es noch einmal.",
                "Das hat nicht geklappt. Wenn es wieder geschieht, wenden Sie sich bitte an den Support.",
            ]
        ),
        (
            "fr",
            [
                "Veuillez vous reconnecter.",
                "Le service est injoignable pour le moment. Réessayez dans un instant.",
                "Ce n’est pas possible pour le moment. Réessayez plus tard.",
                "Cette app n’est pas configurée correctement. Veuillez le signaler à son assistance.",
                "Cet appareil ne peut pas enregistrer la connexion pour le moment. Déverrouillez-le, puis réessayez.",
                "L’opération a été annulée.",
                "Ce n’est pas correct. Vérifiez votre saisie, puis réessayez.",
                "Cette connexion n’a pas été acceptée. Veuillez réessayer.",
                "Ce compte ne peut pas être utilisé. Connectez-vous autrement ou contactez l’assistance.",
                "Pour cela, veuillez vous connecter encore une fois.",
                "Un autre compte utilise cette adresse.",
                "C’est déjà associé à un compte.",
                "Votre compte a déjà une autre connexion de ce type. Retirez-la d’abord.",
                "C’est votre seul moyen de connexion. Ajoutez-en d’abord un autre.",
                "Cette connexion a expiré. Veuillez recommencer.",
                "Choisissez un autre mot de passe : au moins 8 caractères, et difficile à deviner.",
                "Cela n’existe plus.",
                "Une de vos saisies ne peut pas être utilisée. Vérifiez-la, puis réessayez.",
                "Cela n’a pas fonctionné. Si cela se reproduit, contactez l’assistance.",
            ]
        ),
        (
            "es",
            [
                "Vuelve a iniciar sesión.",
                "No se puede acceder al servicio en este momento. Inténtalo de nuevo enseguida.",
                "Ahora mismo no es posible. Inténtalo de nuevo más tarde.",
                "Esta app no está bien configurada. Comunícalo a su equipo de soporte.",
                "Este dispositivo no puede guardar la sesión ahora. Desbloquéalo e inténtalo de nuevo.",
                "Se ha cancelado.",
                "No es correcto. Comprueba lo que has escrito e inténtalo de nuevo.",
                "Este inicio de sesión no se ha aceptado. Inténtalo de nuevo.",
                "Esta cuenta no se puede usar. Inicia sesión de otra forma o contacta con soporte.",
                "Para hacer esto, inicia sesión otra vez.",
                "Otra cuenta tiene esta dirección.",
                "Ya está vinculado a una cuenta.",
                "Tu cuenta ya tiene otro inicio de sesión de este tipo. Quítalo primero.",
                "Es tu única forma de iniciar sesión. Añade antes otra.",
                "Este inicio de sesión ha caducado. Empieza de nuevo.",
                "Elige otra contraseña: al menos 8 caracteres y que no sea fácil de adivinar.",
                "Esto ya no existe.",
                "Algo de lo que has escrito no se puede usar. Compruébalo e inténtalo de nuevo.",
                "No ha funcionado. Si vuelve a ocurrir, contacta con soporte.",
            ]
        ),
        (
            "it",
            [
                "Accedi di nuovo.",
                "Il servizio non è raggiungibile in questo momento. Riprova tra poco.",
                "Al momento non è possibile. Riprova più tardi.",
                "Questa app non è configurata correttamente. Segnalalo alla sua assistenza.",
                "Questo dispositivo non può salvare l’accesso in questo momento. Sbloccalo e riprova.",
                "Operazione annullata.",
                "Non è corretto. Controlla ciò che hai inserito e riprova.",
                "Questo accesso non è stato accettato. Riprova.",
                "Questo account non può essere usato. Accedi in un altro modo o contatta l’assistenza.",
                "Per farlo, accedi ancora una volta.",
                "Un altro account ha questo indirizzo.",
                "È già collegato a un account.",
                "Il tuo account ha già un altro accesso di questo tipo. Rimuovilo prima.",
                "È il tuo unico modo di accedere. Aggiungine prima un altro.",
                "Questo accesso è scaduto. Ricomincia.",
                "Scegli un’altra password: almeno 8 caratteri e non facile da indovinare.",
                "Non esiste più.",
                "Qualcosa che hai inserito non può essere usato. Controlla e riprova.",
                "Non ha funzionato. Se succede di nuovo, contatta l’assistenza.",
            ]
        ),
        (
            "pt-BR",
            [
                "Entre novamente.",
                "Não é possível acessar o serviço agora. Tente novamente em instantes.",
                "Isso não é possível agora. Tente novamente mais tarde.",
                "Este app não está configurado corretamente. Informe o suporte do app.",
                "Este dispositivo não pode guardar o login agora. Desbloqueie-o e tente novamente.",
                "A operação foi cancelada.",
                "Não está certo. Confira o que você digitou e tente novamente.",
                "Este login não foi aceito. Tente novamente.",
                "Esta conta não pode ser usada. Entre de outra forma ou fale com o suporte.",
                "Para fazer isso, entre mais uma vez.",
                "Outra conta tem este endereço.",
                "Isto já está vinculado a uma conta.",
                "Sua conta já tem outro login deste tipo. Remova-o primeiro.",
                "Esta é a sua única forma de entrar. Adicione outra primeiro.",
                "Este login expirou. Comece de novo.",
                "Escolha outra senha: pelo menos 8 caracteres e difícil de adivinhar.",
                "Isto não existe mais.",
                "Algo que você digitou não pode ser usado. Confira e tente novamente.",
                "Não funcionou. Se acontecer de novo, fale com o suporte.",
            ]
        ),
        (
            "nl",
            [
                "Log opnieuw in.",
                "De dienst is nu niet bereikbaar. Probeer het zo meteen opnieuw.",
                "Dat kan nu niet. Probeer het later opnieuw.",
                "Deze app is niet goed ingesteld. Meld dit aan de klantenservice van de app.",
                "Dit apparaat kan je nu niet ingelogd houden. Ontgrendel het en probeer het opnieuw.",
                "Dat is geannuleerd.",
                "Dat klopt niet. Controleer wat je hebt ingevuld en probeer het opnieuw.",
                "Deze inlogpoging is niet geaccepteerd. Probeer het opnieuw.",
                "Dit account kan niet worden gebruikt. Log anders in of neem contact op met de klantenservice.",
                "Log hiervoor nog een keer in.",
                "Een ander account heeft dit adres.",
                "Dit is al aan een account gekoppeld.",
                "Je account heeft al een andere inlogmethode van dit type. Verwijder die eerst.",
                "Dit is je enige manier om in te loggen. Voeg eerst een andere toe.",
                "Deze inlogpoging is verlopen. Begin opnieuw.",
                "Kies een ander wachtwoord: minstens 8 tekens en niet makkelijk te raden.",
                "Dit bestaat niet meer.",
                "Iets wat je hebt ingevuld, kan niet worden gebruikt. Controleer het en probeer het opnieuw.",
                "Dat is niet gelukt. Neem contact op met de klantenservice als het weer gebeurt.",
            ]
        ),
        (
            "pl",
            [
                "Zaloguj się ponownie.",
                "Usługa jest teraz niedostępna. Spróbuj ponownie za chwilę.",
                "Teraz nie jest to możliwe. Spróbuj ponownie później.",
                "Ta aplikacja jest źle skonfigurowana. Zgłoś to jej pomocy technicznej.",
                "To urządzenie nie może teraz zapisać logowania. Odblokuj je i spróbuj ponownie.",
                "Anulowano.",
                "To się nie zgadza. Sprawdź wpisane dane i spróbuj ponownie.",
                "To logowanie nie zostało przyjęte. Spróbuj ponownie.",
                "Tego konta nie można używać. Zaloguj się inaczej lub skontaktuj się z pomocą.",
                "Aby to zrobić, zaloguj się jeszcze raz.",
                "Inne konto ma ten adres.",
                "To jest już połączone z kontem.",
                "Twoje konto ma już inny sposób logowania tego rodzaju. Najpierw go usuń.",
                "To Twój jedyny sposób logowania. Najpierw dodaj inny.",
                "To logowanie wygasło. Zacznij od nowa.",
                "Wybierz inne hasło: co najmniej 8 znaków i trudne do odgadnięcia.",
                "To już nie istnieje.",
                "Czegoś z wpisanych danych nie można użyć. Sprawdź je i spróbuj ponownie.",
                "Nie udało się. Jeśli to się powtórzy, skontaktuj się z pomocą.",
            ]
        ),
        (
            "ja",
            [
                "もう一度サインインしてください。",
                "現在サービスに接続できません。しばらくしてからもう一度お試しください。",
                "現在は実行できません。後でもう一度お試しください。",
                "このアプリは正しく設定されていません。アプリのサポートにお知らせください。",
                "このデバイスに現在サインイン情報を保存できません。ロックを解除して、もう一度お試しください。",
                "キャンセルされました。",
                "正しくありません。入力内容を確認して、もう一度お試しください。",
                "このサインインは受け付けられませんでした。もう一度お試しください。",
                "このアカウントは使用できません。別の方法でサインインするか、サポートにお問い合わせください。",
                "この操作を行うには、もう一度サインインしてください。",
                "このアドレスは別のアカウントで使われています。",
                "これはすでにアカウントに連携されています。",
                "アカウントには、この種類の別のサインイン方法がすでにあります。先にそれを解除してください。",
                "これが唯一のサインイン方法です。先に別の方法を追加してください。",
                "このサインインは期限切れです。最初からやり直してください。",
                "別のパスワードを選んでください。8文字以上で、推測されにくいものにしてください。",
                "これはもう存在しません。",
                "入力内容に使用できないものがあります。確認して、もう一度お試しください。",
                "うまくいきませんでした。繰り返す場合は、サポートにお問い合わせください。",
            ]
        ),
        (
            "ko",
            [
                "다시 로그인해 주세요.",
                "지금은 서비스에 연결할 수 없습니다. 잠시 후 다시 시도해 주세요.",
                "지금은 할 수 없습니다. 나중에 다시 시도해 주세요.",
                "이 앱이 올바르게 설정되지 않았습니다. 앱 지원팀에 알려 주세요.",
                "지금은 이 기기에 로그인을 저장할 수 없습니다. 잠금을 해제하고 다시 시도해 주세요.",
                "취소되었습니다.",
                "올바르지 않습니다. 입력한 내용을 확인하고 다시 시도해 주세요.",
                "이 로그인은 받아들여지지 않았습니다. 다시 시도해 주세요.",
                "이 계정은 사용할 수 없습니다. 다른 방법으로 로그인하거나 지원팀에 문의해 주세요.",
                "이 작업을 하려면 한 번 더 로그인해 주세요.",
                "다른 계정이 이 주소를 사용하고 있습니다.",
                "이미 계정에 연결되어 있습니다.",
                "계정에 이 종류의 다른 로그인 방법이 이미 있습니다. 먼저 그것을 제거해 주세요.",
                "유일한 로그인 방법입니다. 먼저 다른 방법을 추가해 주세요.",
                "이 로그인은 만료되었습니다. 처음부터 다시 시작해 주세요.",
                "다른 비밀번호를 선택해 주세요. 8자 이상이고 추측하기 어려워야 합니다.",
                "더 이상 존재하지 않습니다.",
                "입력한 내용 중 사용할 수 없는 것이 있습니다. 확인하고 다시 시도해 주세요.",
                "처리하지 못했습니다. 다시 발생하면 지원팀에 문의해 주세요.",
            ]
        ),
        (
            "zh-Hans",
            [
                "请重新登录。",
                "目前无法连接到服务。请稍后再试。",
                "目前无法执行此操作。请以后再试。",
                "此 App 的设置不正确。请告知其支持人员。",
                "此设备目前无法保存登录信息。请解锁设备后再试。",
                "已取消。",
                "不正确。请检查您输入的内容，然后再试。",
                "此次登录未被接受。请再试一次。",
                "此账户无法使用。请以其他方式登录，或联系支持人员。",
                "要执行此操作，请再登录一次。",
                "另一个账户正在使用此地址。",
                "它已关联到某个账户。",
                "您的账户已有另一个同类登录方式。请先将其移除。",
                "这是您唯一的登录方式。请先添加其他方式。",
                "此次登录已过期。请重新开始。",
                "请选择其他密码：至少 8 个字符，且不易被猜到。",
                "它已不存在。",
                "您输入的某些内容无法使用。请检查后再试。",
                "操作未成功。如果再次发生，请联系支持人员。",
            ]
        ),
        (
            "ar",
            [
                "يُرجى تسجيل الدخول مرة أخرى.",
                "لا يمكن الوصول إلى الخدمة الآن. يُرجى المحاولة مرة أخرى بعد قليل.",
                "هذا غير ممكن الآن. يُرجى المحاولة لاحقًا.",
                "لم يتم إعداد هذا التطبيق بشكل صحيح. يُرجى إبلاغ فريق الدعم.",
                "لا يمكن لهذا الجهاز حفظ تسجيل الدخول الآن. افتح قفله وحاول مرة أخرى.",
                "تم الإلغاء.",
                "هذا غير صحيح. تحقق مما أدخلته وحاول مرة أخرى.",
                "لم يُقبل تسجيل الدخول هذا. يُرجى المحاولة مرة أخرى.",
                "لا يمكن استخدام هذا الحساب. سجّل الدخول بطريقة أخرى أو تواصل مع الدعم.",
                "للقيام بذلك، يُرجى تسجيل الدخول مرة أخرى.",
                "هذا العنوان مستخدم في حساب آخر.",
                "هذا مرتبط بحساب بالفعل.",
                "لحسابك طريقة دخول أخرى من هذا النوع. أزلها أولًا.",
                "هذه طريقتك الوحيدة لتسجيل الدخول. أضف طريقة أخرى أولًا.",
                "انتهت صلاحية تسجيل الدخول هذا. يُرجى البدء من جديد.",
                "اختر كلمة مرور أخرى: 8 أحرف على الأقل، ولا يسهل تخمينها.",
                "لم يعد هذا موجودًا.",
                "لا يمكن استخدام بعض ما أدخلته. تحقق منه وحاول مرة أخرى.",
                "لم ينجح ذلك. إذا تكرر الأمر، فتواصل مع الدعم.",
            ]
        ),
    ]

    /// In the first language that is wanted and there is: a language is found by its first part, whatever its region.
    ///
    /// - Parameter wanted: tags (BCP 47), best first.
    func text(in wanted: [String]) -> String {
        func language(_ tag: String) -> Substring { tag.lowercased().prefix { $0 != "-" && $0 != "_" } }
        let found = wanted.lazy.compactMap { tag in Self.languages.first { language($0.tag) == language(tag) } }.first
        return (found ?? Self.languages[0]).sentences[rawValue]
    }
}
