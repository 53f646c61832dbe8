extension LanguageTexts {
    static let japanese = LanguageTexts(
        tag: "ja", months: (1...12).map { "\($0)月" }, text: japanese, error: japanese, failure: japanese)

    private static func japanese(_ text: PageText) -> String {
        switch text {
        case .title: "{{heading}} – {{service}}"
        case .errorTitle: "エラー: {{heading}} – {{service}}"
        case .date: "{{year}}年{{month}}{{day}}日"
        case .privacy: "プライバシー"
        case .terms: "利用規約"
        case .help: "ヘルプ"
        case .cancel: "キャンセル"
        case .back: "戻る"
        case .signInTitle: "{{app}}にサインイン"
        case .continueToClient: "サインインすると、アカウントを{{client}}と連携できます。"
        case .continueWithApple: "Appleで続ける"
        case .continueWithGoogle: "Googleで続ける"
        case .or: "または"
        case .email: "メールアドレス"
        case .password: "パスワード"
        case .signIn: "サインイン"
        case .emailMeACode: "メールでコードを受け取る"
        case .codeTitle: "コードでサインイン"
        case .codeTitleBind: "コードでアカウントを確認"
        case .codeTitleConfirmAddress: "メールアドレスの確認"
        case .codeLead: "サインイン用のコードをメールでお送りします。"
        case .codeLeadBind:
            "{{app}}のアカウントのメールアドレスを入力してください。ご本人のアカウントであることを確認するコードをお送りします。"
        case .codeLeadConfirmAddress: "{{client}}には確認済みのメールアドレスが必要です。コードをメールでお送りします。"
        case .sendCode: "コードを送信"
        case .enterCodeTitle: "コードを入力"
        case .codeSent: "{{email}}のアカウントがある場合、コードをメールでお送りしました。"
        case .codeSentConfirmAddress: "{{email}}にコードをお送りしました。"
        case .codeLife: "有効期間は10分です。"
        case .code: "コード"
        case .confirmCode: "続ける"
        case .codeMissing: "メールが届かないときは、まず迷惑メールフォルダをご確認ください。"
        case .sendAnotherCode: "コードを再送信"
        case .linkTitle: "すでにアカウントをお持ちですか？"
        case .signedInAs: "{{provider}}に{{email}}としてサインインしました。"
        case .notLinkedYet: "この{{provider}}アカウントを使う{{app}}のアカウントはまだありません。"
        case .mailboxProven: "{{email}}がご本人のアドレスであることを確認しました。"
        case .holderExists: "このアドレスのアカウントがすでにあります。"
        case .holderWays: "サインイン方法:"
        case .holderSince: "アカウント作成日: {{date}}"
        case .linkedOn: "連携日: {{date}}"
        case .useExisting: "既存のアカウントを使う"
        case .useExistingHint: "ご本人のアカウントと確認できれば、どちらの方法でも同じアカウントに入れます。"
        case .createNew: "初めて利用します"
        case .createNewHint: "既存のアカウントとは別のアカウントになります。"
        case .createTitle: "アカウントを作成"
        case .askedBefore:
            "以前に別の方法で{{app}}にサインインしたことはありますか？ある場合は、アカウントが二つにならないよう、そちらをお使いください。"
        case .haveAccount: "すでにアカウントを持っている"
        case .displayName: "お名前（任意）"
        case .newPassword: "パスワード（任意）"
        case .newPasswordHint: "8文字以上。設定しない場合は、メールのコードでサインインします。"
        case .takesAddress:
            "{{email}}は新しいアカウントに移り、このアカウントでは使えなくなります。ほかのサインイン方法は変わりません。"
        case .createAccount: "アカウントを作成"
        case .bindTitle: "既存のアカウントを使う"
        case .bindLead: "ご本人のアカウントであることを確認します。その後は{{provider}}でもサインインできます。"
        case .bindLeadMailbox: "ご本人のアカウントであることを確認します。"
        case .codeWasRight: "コードは正しいものでした。"
        case .isThisYours: "これはあなたのアカウントですか？"
        case .thisIsMine: "これは自分のアカウントです"
        case .thisIsMineHint: "メールアドレスで確認済みです。ほかのデバイスはすべてサインアウトされます。"
        case .linkAccount: "このアカウントを使う"
        case .createInstead: "新しいアカウントを作成する"
        case .conflictTitle: "別の{{provider}}アカウントが連携されています"
        case .conflictLead: "このアカウントには、すでに次の{{provider}}アカウントが連携されています。"
        case .conflictHint:
            "置き換えると、以前のものではサインインできなくなり、それでサインインしたデバイスはサインアウトされます。"
        case .passwordAgain: "パスワードをもう一度入力"
        case .replace: "置き換える"
        case .keep: "そのままにする"
        case .consentTitle: "アカウントを{{client}}と連携しますか？"
        case .consentAccount: "アカウント"
        case .useAnotherAccount: "別のアカウントを使う"
        case .consentScopes: "{{client}}が求めている情報:"
        case .scopeProfile: "お名前"
        case .scopeEmail: "メールアドレス"
        case .consentEnd: "{{client}}との連携は、アカウントページでいつでも解除できます。"
        case .clientPrivacy: "{{client}}のプライバシーポリシー"
        case .missingEmailTitle: "アカウントにメールアドレスがありません"
        case .missingEmailLead: "{{client}}には確認済みのメールアドレスが必要ですが、このアカウントにはなく、ここからは確認メールを送信できません。何も連携されていません。"
        case .backToClient: "{{client}}に戻る"
        case .allow: "許可"
        case .deny: "許可しない"
        case .openTitle: "{{app}}に戻る"
        case .openSignedIn: "アプリでサインインが完了します。{{app}}が開いたら、このページは閉じてかまいません。"
        case .openCancelled: "キャンセルしました。サインインしていません。"
        case .openFailed: "サインインできませんでした。{{app}}でもう一度お試しください。"
        case .openApp: "{{app}}を開く"
        case .flipTitle: "このリンクをスマートフォンで開いてください"
        case .flipLead: "連携するアプリが開きます。スマートフォンでこのページが表示された場合は、アプリをインストールまたは更新してから、もう一度お試しください。"
        case .signedOutTitle: "サインアウトしました"
        case .signedOutLead: "このページを閉じてかまいません。"
        case .signInAgain: "もう一度サインイン"
        case .accountTitle: "アカウント"
        case .waysToSignIn: "サインイン方法"
        case .passwordIsSet: "メールアドレスと組み合わせて使います"
        case .onlyWay: "唯一のサインイン方法のため、連携を解除できません。"
        case .noWays: "メールのコード"
        case .unlinkProvider: "{{provider}}の連携を解除"
        case .unlinkHint: "解除するとその方法ではサインインできなくなり、それでサインインしたデバイスはサインアウトされます。"
        case .linkedClients: "連携中のアプリとサービス"
        case .lastUsedOn: "最終利用日: {{date}}"
        case .unlinkClient: "{{client}}の連携を解除"
        case .signOut: "サインアウト"
        case .unlinkedProvider: "{{provider}}の連携を解除しました。"
        case .unlinkedClient: "{{client}}の連携を解除しました。"
        case .unlinkProviderTitle: "{{provider}}の連携を解除しますか?"
        case .unlinkProviderLead: "{{provider}}ではサインインできなくなり、それでサインインしたデバイスはサインアウトされます。"
        case .unlinkSignsOut: "ここでは{{provider}}でサインインしているため、このデバイスもサインアウトされます。"
        case .unlinkedSignsOut: "ここでは{{provider}}でサインインしていました。アカウントを見るには、別の方法でサインインしてください。"
        case .unlinkClientTitle: "{{client}}の連携を解除しますか?"
        case .unlinkClientLead: "{{client}}はすぐにアカウントを利用できなくなります。いつでももう一度連携できます。"
        case .tryAgain: "もう一度試す"
        case .reference: "お問い合わせ番号: {{reference}}"
        }
    }

    private static func japanese(_ error: FormError) -> String {
        switch error {
        case .wrongPassword: "メールアドレスまたはパスワードが違います。"
        case .wrongCode: "コードが違うか、有効期限が切れています。確認するか、再送信してください。"
        case .invalidEmail: "name@example.comのような形式でメールアドレスを入力してください。"
        case .missingPassword: "パスワードを入力してください。"
        case .missingCode: "メールに記載されたコードを入力してください。"
        case .weakPassword: "別のパスワードを選んでください。8文字以上で、よく使われるものは使えません。"
        case .invalidDisplayName: "別のお名前にするか、空欄にしてください。"
        case .emailTaken: "このアドレスのアカウントがすでにあります。そちらをお使いください。"
        case .identityAlreadyLinked: "その間に別のアカウントに連携されました。もう一度サインインしてください。"
        case .holderChanged: "このアカウントの内容が変わりました。もう一度ご確認ください。"
        case .lastSignInMethod: "唯一のサインイン方法です。先に別の方法を連携してください。"
        case .accountDisabled: "このアカウントは停止されています。{{service}}のサポートにお問い合わせください。"
        case .tooManyTries: "試行回数が多すぎます。数分待ってからもう一度お試しください。"
        case .mailUnavailable: "現在メールを送信できません。別の方法でサインインするか、後でもう一度お試しください。"
        case .providerUnavailable: "現在プロバイダに接続できません。もう一度試すか、別の方法でサインインしてください。"
        case .providerRefused: "サインインを確認できませんでした。もう一度試すか、別の方法でサインインしてください。"
        case .cancelledAtProvider: "キャンセルしました。もう一度試すか、別の方法を選んでください。"
        case .otherIdentity:
            "そのサインインでは、このアカウントに入れません。別のサインインか、別の確認方法を選んでください。"
        }
    }

    private static func japanese(_ failure: FailurePage.Failure) -> FailureText {
        switch failure {
        case .unknownApp:
            FailureText(
                "このアプリは登録されていません",
                """
                アプリが不明か、登録されていない戻り先を指定しています。アプリを更新してもう一度お試しください。解決しない場合は、\
                アプリの提供元にお問い合わせください。
                """)
        case .unknownClient:
            FailureText(
                "このサービスは登録されていません",
                """
                サービスが不明か、登録されていない戻り先を指定しています。前の画面に戻ってもう一度お試しください。解決しない場合は、\
                そのサービスのサポートにお問い合わせください。
                """)
        case .invalidRequest:
            FailureText("このリンクは使えません", "内容に不足か誤りがあります。前の画面に戻って最初からやり直してください。")
        case .flowExpired:
            FailureText(
                "サインインの有効期限が切れました",
                "最初の画面に戻ってやり直してください。解決しない場合は、このサイトのCookieを許可してください。")
        case .anotherBrowser:
            FailureText(
                "別のブラウザで始めたサインインです", "始めたブラウザで続けるか、ここで最初からやり直してください。")
        case .answerRefused:
            FailureText(
                "サインインを確認できませんでした",
                "プロバイダからの応答が正しくないか、遅すぎました。何も変更されていません。前の画面に戻って最初からやり直してください。")
        case .formExpired:
            FailureText("ページの有効期限が切れました", "前の画面に戻り、再読み込みしてからもう一度お試しください。")
        case .reauthenticationRequired:
            FailureText("もう一度サインインしてください", "アカウントを変更する前に、ご本人であることを確認します。")
        case .accountDisabled:
            FailureText("このアカウントは停止されています", "{{service}}のサポートにお問い合わせください。")
        case .tooManyRequests:
            FailureText("試行回数が多すぎます", "数分待ってからもう一度お試しください。")
        case .notFound:
            FailureText("ページが見つかりません", "アドレスを確認するか、前の画面に戻ってください。")
        case .methodNotAllowed:
            FailureText("この方法ではページを開けません", "前の画面に戻ってもう一度お試しください。")
        case .unavailable:
            FailureText("現在サインインできません", "数分後にもう一度お試しください。")
        case .internalError:
            FailureText("問題が発生しました", "こちら側の問題です。数分後にもう一度お試しください。")
        }
    }
}
