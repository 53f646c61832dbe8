extension LanguageTexts {
    static let simplifiedChinese = LanguageTexts(
        tag: "zh-Hans", months: (1...12).map { "\($0)月" }, text: chinese, error: chinese, failure: chinese)

    private static func chinese(_ text: PageText) -> String {
        switch text {
        case .title: "{{heading}} – {{service}}"
        case .errorTitle: "错误：{{heading}} – {{service}}"
        case .date: "{{year}}年{{month}}{{day}}日"
        case .privacy: "隐私"
        case .terms: "条款"
        case .help: "帮助"
        case .cancel: "取消"
        case .back: "返回"
        case .signInTitle: "登录 {{app}}"
        case .continueToClient: "登录后，您可以将账户与 {{client}} 关联。"
        case .continueWithApple: "通过 Apple 继续"
        case .continueWithGoogle: "通过 Google 继续"
        case .or: "或"
        case .email: "电子邮件地址"
        case .password: "密码"
        case .signIn: "登录"
        case .emailMeACode: "通过邮件获取验证码"
        case .codeTitle: "使用验证码登录"
        case .codeTitleBind: "使用验证码确认账户"
        case .codeTitleConfirmAddress: "确认电子邮件地址"
        case .codeLead: "我们会把登录验证码发送到您的邮箱。"
        case .codeLeadBind: "请输入您的 {{app}} 账户的邮件地址。我们会发送验证码，以确认该账户属于您。"
        case .codeLeadConfirmAddress: "{{client}} 需要一个已确认的邮件地址。我们会把验证码发送到您的邮箱。"
        case .sendCode: "发送验证码"
        case .enterCodeTitle: "输入验证码"
        case .codeSent: "如果 {{email}} 有对应的账户，验证码已发送到该邮箱。"
        case .codeSentConfirmAddress: "验证码已发送到 {{email}}。"
        case .codeLife: "10 分钟内有效。"
        case .code: "验证码"
        case .confirmCode: "继续"
        case .codeMissing: "没有收到邮件？请先查看垃圾邮件文件夹。"
        case .sendAnotherCode: "重新发送验证码"
        case .linkTitle: "您已有账户吗？"
        case .signedInAs: "您已通过 {{provider}} 以 {{email}} 的身份登录。"
        case .notLinkedYet: "还没有 {{app}} 账户使用此 {{provider}} 账户。"
        case .mailboxProven: "您已证明 {{email}} 是您的邮件地址。"
        case .holderExists: "已有一个账户使用此邮件地址。"
        case .holderWays: "它的登录方式："
        case .holderSince: "账户创建于 {{date}}"
        case .linkedOn: "关联于 {{date}}"
        case .useExisting: "使用已有账户"
        case .useExistingHint: "证明该账户属于您之后，两种方式都可以登录同一个账户。"
        case .createNew: "我是新用户"
        case .createNewHint: "与现有账户分开的新账户。"
        case .createTitle: "创建账户"
        case .askedBefore: "您以前用其他方式登录过 {{app}} 吗？如果是，请使用原来的账户，以免出现两个账户。"
        case .haveAccount: "我已有账户"
        case .displayName: "您的姓名（可选）"
        case .newPassword: "密码（可选）"
        case .newPasswordHint: "至少 8 个字符。如果不设密码，您可以用邮件验证码登录。"
        case .takesAddress: "{{email}} 将归新账户所有，此账户不再使用该地址。它的其他登录方式保持不变。"
        case .createAccount: "创建账户"
        case .bindTitle: "使用已有账户"
        case .bindLead: "请证明该账户属于您。之后您也可以通过 {{provider}} 登录。"
        case .bindLeadMailbox: "请证明该账户属于您。"
        case .codeWasRight: "验证码正确。"
        case .isThisYours: "这是您的账户吗？"
        case .thisIsMine: "这是我的账户"
        case .thisIsMineHint: "您的邮件地址已足以证明。其他所有设备都将退出登录。"
        case .linkAccount: "使用此账户"
        case .createInstead: "改为创建新账户"
        case .conflictTitle: "已关联另一个 {{provider}} 账户"
        case .conflictLead: "您的账户已关联以下 {{provider}} 账户："
        case .conflictHint: "替换后，原来的账户将无法再登录，用它登录的设备也会退出登录。"
        case .passwordAgain: "请再次输入密码"
        case .replace: "替换"
        case .keep: "保留"
        case .consentTitle: "要将您的账户与 {{client}} 关联吗？"
        case .consentAccount: "您的账户"
        case .useAnotherAccount: "使用其他账户"
        case .consentScopes: "{{client}} 请求获取："
        case .scopeProfile: "您的姓名"
        case .scopeEmail: "您的电子邮件地址"
        case .consentEnd: "您可以随时在账户页面解除与 {{client}} 的关联。"
        case .clientPrivacy: "{{client}} 的隐私政策"
        case .missingEmailTitle: "您的账户缺少邮件地址"
        case .missingEmailLead: "{{client}} 需要一个已确认的邮件地址。您的账户没有这样的地址，而这里无法发送确认邮件。未关联任何内容。"
        case .backToClient: "返回 {{client}}"
        case .allow: "允许"
        case .deny: "拒绝"
        case .openTitle: "返回 {{app}}"
        case .openSignedIn: "登录将在应用中完成。{{app}} 打开后，您可以关闭此页面。"
        case .openCancelled: "您已取消，尚未登录。"
        case .openFailed: "登录未成功。请在 {{app}} 中重试。"
        case .openApp: "打开 {{app}}"
        case .flipTitle: "请在手机上打开此链接"
        case .flipLead: "它会打开要关联的应用。如果您在手机上看到此页面，请安装或更新该应用，然后重试。"
        case .signedOutTitle: "您已退出登录"
        case .signedOutLead: "您可以关闭此页面。"
        case .signInAgain: "重新登录"
        case .accountTitle: "您的账户"
        case .waysToSignIn: "登录方式"
        case .passwordIsSet: "与您的电子邮件地址一起使用"
        case .onlyWay: "这是您唯一的登录方式，无法解除关联。"
        case .noWays: "邮件验证码"
        case .unlinkProvider: "解除关联 {{provider}}"
        case .unlinkHint: "解除关联后，该方式将无法再登录您的账户，用它登录的设备也会退出登录。"
        case .linkedClients: "已关联的应用和服务"
        case .lastUsedOn: "上次使用于 {{date}}"
        case .unlinkClient: "解除关联 {{client}}"
        case .signOut: "退出登录"
        case .unlinkedProvider: "已解除与 {{provider}} 的关联。"
        case .unlinkedClient: "已解除与 {{client}} 的关联。"
        case .unlinkProviderTitle: "要解除与 {{provider}} 的关联吗？"
        case .unlinkProviderLead: "{{provider}} 将无法再登录您的账户，用它登录的设备也会退出登录。"
        case .unlinkSignsOut: "您在此处是用 {{provider}} 登录的，因此本设备也会退出登录。"
        case .unlinkedSignsOut: "您之前在此处用 {{provider}} 登录。请用其他方式登录以查看您的账户。"
        case .unlinkClientTitle: "要解除与 {{client}} 的关联吗？"
        case .unlinkClientLead: "{{client}} 会立即失去对您账户的访问权限。您可以随时重新关联。"
        case .tryAgain: "重试"
        case .reference: "客服查询编号：{{reference}}"
        }
    }

    private static func chinese(_ error: FormError) -> String {
        switch error {
        case .wrongPassword: "电子邮件地址或密码不正确。"
        case .wrongCode: "验证码不正确或已过期。请检查，或重新发送。"
        case .invalidEmail: "请输入类似 name@example.com 的电子邮件地址。"
        case .missingPassword: "请输入密码。"
        case .missingCode: "请输入邮件中的验证码。"
        case .weakPassword: "请换一个密码：至少 8 个字符，且不能是常用密码。"
        case .invalidDisplayName: "请换一个姓名，或留空。"
        case .emailTaken: "已有账户使用此邮件地址。请使用该账户。"
        case .identityAlreadyLinked: "在此期间，它已关联到一个账户。请重新登录。"
        case .holderChanged: "此账号在此期间已发生变化。请重新确认。"
        case .lastSignInMethod: "这是您唯一的登录方式。请先关联其他方式。"
        case .accountDisabled: "此账户已停用。请联系 {{service}} 客服。"
        case .tooManyTries: "尝试次数过多。请等几分钟后再试。"
        case .mailUnavailable: "目前无法发送邮件。请用其他方式登录，或稍后再试。"
        case .providerUnavailable: "目前无法连接登录服务商。请重试，或用其他方式登录。"
        case .providerRefused: "无法确认此次登录。请重试，或用其他方式登录。"
        case .cancelledAtProvider: "您已取消。请重试，或选择其他方式。"
        case .otherIdentity:
            "该登录方式无法打开此账户。请使用其他登录方式，或以其他方式证明该账户属于您。"
        }
    }

    private static func chinese(_ failure: FailurePage.Failure) -> FailureText {
        switch failure {
        case .unknownApp:
            FailureText(
                "此应用未在这里注册",
                "我们不认识您使用的应用，或者它提供的返回地址不属于它。请更新应用后重试；如果仍然不行，请联系应用开发者。")
        case .unknownClient:
            FailureText(
                "此服务未在这里注册",
                "我们不认识您使用的服务，或者它提供的返回地址不属于它。请返回重试；如果仍然不行，请联系该服务的客服。")
        case .invalidRequest:
            FailureText("此链接无效", "其中有内容缺失或错误。请返回并重新开始。")
        case .flowExpired:
            FailureText("此次登录已过期", "请回到最初的页面重新开始。如果仍然不行，请允许此网站使用 Cookie。")
        case .anotherBrowser:
            FailureText("此次登录是在另一个浏览器中开始的", "请在原来的浏览器中继续，或在这里重新开始。")
        case .answerRefused:
            FailureText("无法确认此次登录", "登录服务商的回复不正确或来得太晚，没有做任何更改。请返回并重新开始。")
        case .formExpired:
            FailureText("此页面已过期", "请返回，刷新页面后重试。")
        case .reauthenticationRequired:
            FailureText("请重新登录", "更改账户之前，我们需要确认是您本人。")
        case .accountDisabled:
            FailureText("此账户已停用", "请联系 {{service}} 客服。")
        case .tooManyRequests:
            FailureText("尝试次数过多", "请等几分钟后再试。")
        case .notFound:
            FailureText("找不到页面", "请检查网址，或返回之前的页面。")
        case .methodNotAllowed:
            FailureText("无法以这种方式打开此页面", "请返回之前的页面重试。")
        case .unavailable:
            FailureText("目前无法登录", "请过几分钟再试。")
        case .internalError:
            FailureText("出了点问题", "问题在我们这边。请过几分钟再试。")
        }
    }
}
