/// The style sheet: the colours of the theme, then rules that are the same for all. Properties are logical, so that
/// `dir=rtl` mirrors the page; no rule needs a width beyond 320 px.
enum StyleSheet {
    static func text(_ theme: PageTheme) -> String {
        let accent = theme.accentColor ?? ColorScheme.defaultAccent
        let apple = theme.appleLogo == nil ? "" : appleWithLogo
        return """
            :root{color-scheme:light dark;\(ColorScheme.light(accent: accent).declarations)}
            @media (prefers-color-scheme:dark){:root{\(ColorScheme.dark(accent: accent).declarations)}}
            \(rules)
            \(apple)
            """
    }

    /// White in both schemes, as the operator's logo is black.
    private static let appleWithLogo = """
        .apple,.apple:hover{background:#ffffff;color:#000000;border-color:var(--google-line)}
        """

    private static let rules = """
        *,*::before,*::after{box-sizing:border-box}
        html{font:100%/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif;-webkit-text-size-adjust:100%;text-size-adjust:100%;scroll-padding:1rem}
        body{margin:0;min-block-size:100vh;min-block-size:100dvh;display:flex;flex-direction:column;align-items:center;background:var(--page);color:var(--text);overflow-wrap:anywhere}
        :lang(ko){word-break:keep-all}
        :lang(ja){word-break:auto-phrase}
        header,main,footer{inline-size:100%;max-inline-size:27rem;padding-inline:1.25rem}
        header{display:flex;flex-wrap:wrap;align-items:center;gap:.625rem;padding-block:1.5rem 1rem;font-weight:600}
        header img{block-size:2rem;inline-size:auto;max-inline-size:12rem;object-fit:contain}
        main{padding-block:1.75rem;background:var(--card)}
        footer{display:flex;flex-wrap:wrap;padding-block:.75rem 1.5rem;padding-inline:.625rem;font-size:.875rem}
        footer a{display:inline-flex;align-items:center;justify-content:center;min-block-size:44px;min-inline-size:44px;padding-inline:.625rem;color:var(--muted)}
        h1{margin:0 0 1.25rem;font-size:1.5rem;line-height:1.25;font-weight:650;letter-spacing:-.01em;text-wrap:balance}
        h2{margin:1.75rem 0 .5rem;font-size:1rem;line-height:1.4;font-weight:600}
        h1+.lead{margin-block-start:-.75rem}
        p{margin:0 0 1rem}
        .lead+.lead{margin-block-start:-.5rem}
        .lead,.hint{color:var(--muted)}
        .hint{margin:.375rem 0 0;font-size:.875rem}
        form{margin:0}
        form+form,.button+form,form+.button,.button+.button,button+button{margin-block-start:.75rem}
        a{color:var(--link);text-underline-offset:.15em}
        main p>a:not(.button){display:inline-block;padding-block:.625rem}
        .field{margin-block-end:1rem}
        .choice+.choice{margin-block-start:1.25rem}
        label{display:block;margin-block-end:.375rem;font-size:.9375rem;font-weight:500}
        input{display:block;inline-size:100%;min-block-size:48px;padding:.5rem .75rem;border:1px solid var(--field);border-radius:.625rem;background:var(--card);color:var(--text);font:inherit;font-size:1rem}
        input[hidden]{display:none}
        input[aria-invalid=true]{border-color:var(--error);box-shadow:0 0 0 1px var(--error)}
        .code{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:1.5rem;letter-spacing:.2em}
        button,.button{display:block;inline-size:100%;min-block-size:48px;padding:.75rem 1rem;border:1px solid var(--field);border-radius:.625rem;background:transparent;color:var(--text);font:inherit;font-size:1rem;font-weight:550;line-height:1.375;text-align:center;text-decoration:none;cursor:pointer}
        button:hover,.button:hover{background:var(--raised)}
        .primary,.primary:hover{border-color:var(--link);background:var(--accent);color:var(--on-accent)}
        .danger,.danger:hover{border-color:var(--error);color:var(--error)}
        .danger:hover{background:var(--error-card)}
        .primary:hover,.danger:hover,.provider:hover,.quiet:hover{text-decoration:underline;text-underline-offset:.2em}
        .quiet,.quiet:hover{border-color:transparent;background:transparent;color:var(--link)}
        .provider{display:flex;align-items:center;justify-content:center;gap:.625rem;padding-block:.25rem;font-size:1.1875rem;font-weight:500}
        .provider svg,.provider img{flex:none;inline-size:1.25rem;block-size:1.25rem}
        .provider img{inline-size:auto;block-size:48px;margin-block:-.25rem;margin-inline-start:-1rem}
        .apple,.apple:hover{border-color:var(--apple);background:var(--apple);color:var(--on-apple)}
        .google,.google:hover{border-color:var(--google-line);background:var(--google);color:var(--on-google)}
        .or{display:flex;align-items:center;gap:.75rem;margin-block:1.25rem;color:var(--muted);font-size:.875rem}
        .or::before,.or::after{content:"";flex:1;border-block-start:1px solid var(--line)}
        main .last{margin-block:1.5rem 0;padding-block-start:.75rem;border-block-start:1px solid var(--line)}
        main .last+.last{margin-block-start:0;padding-block-start:0;border-block-start:0}
        main .reference{padding-block-start:1rem}
        .error,.notice{padding:.75rem .875rem;border:1px solid currentcolor;border-radius:.625rem}
        .error{background:var(--error-card);color:var(--error)}
        .notice{background:var(--notice-card);color:var(--notice)}
        .box{margin-block:1.25rem;padding:.875rem 1rem;border:1px solid var(--line);border-radius:.625rem;background:var(--raised)}
        .box>:last-child{margin-block-end:0}
        ul{margin:0 0 1rem;padding:0;list-style:none}
        .scopes{padding-inline-start:1.25rem;list-style:disc}
        .scopes li{margin-block:.25rem}
        .rows>li{padding-block:.625rem;border-block-start:1px solid var(--line)}
        .box .rows>li:first-child{padding-block-start:0;border-block-start:0}
        .rows form{margin-block-start:.625rem}
        .rows button,.rows .button{inline-size:auto;min-inline-size:8rem}
        .rows .button{display:inline-block;margin-block-start:.625rem}
        .further{margin-block-start:1rem}
        .further:empty{display:none}
        .name{display:block;font-weight:600}
        .detail{display:block;color:var(--muted);font-size:.875rem}
        .reference{color:var(--muted);font-size:.8125rem}
        :focus-visible{outline:3px solid var(--link);outline-offset:2px}
        @media (min-width:30rem){header{padding-block-start:3.5rem}main{padding:2rem;border:1px solid var(--line);border-radius:1rem}header{padding-inline:2rem}footer{padding-inline:1.375rem}}
        @media (prefers-contrast:more){:root{--line:var(--field);--muted:var(--text)}}
        @media (forced-colors:active){.primary,.danger,.provider{border-width:2px}input[aria-invalid=true]{border-width:3px}}
        @media (prefers-reduced-motion:no-preference){button,.button{transition:background-color .12s}}
        """
}
