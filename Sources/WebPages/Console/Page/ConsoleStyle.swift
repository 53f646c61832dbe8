/// The style sheet of the console. Every pair of colours has a contrast of 4.5:1 at least, in light and in dark; below
/// 64 rem a table becomes a list of its rows.
enum ConsoleStyle {
    static let text = """
        :root{color-scheme:light dark;--page:#f6f7f9;--card:#ffffff;--text:#1a1f26;--muted:#505a67;--line:#d3d8df;--field:#7a8491;--link:#0b57a4;--accent:#0b57a4;--on-accent:#ffffff;--good:#0d5c2f;--good-card:#e2f4e8;--bad:#9b1c1c;--bad-card:#fdeaea;--bar:#2f7dc4;--bar-refused:#c2410c}
        @media (prefers-color-scheme:dark){:root{--page:#111418;--card:#1a1e24;--text:#e8ebef;--muted:#a9b2bd;--line:#353c46;--field:#8b95a1;--link:#8cc1f7;--accent:#8cc1f7;--on-accent:#0b1622;--good:#8fdcae;--good-card:#12301f;--bad:#ffb1ab;--bad-card:#3d1716;--bar:#5aa7ea;--bar-refused:#f2915c}}
        *,*::before,*::after{box-sizing:border-box}
        html{font:100%/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif;-webkit-text-size-adjust:100%;text-size-adjust:100%}
        body{margin:0;background:var(--page);color:var(--text);overflow-wrap:anywhere}
        .skip{position:absolute;inset-inline-start:-999rem}
        .skip:focus{inset-inline-start:1rem;inset-block-start:.5rem;padding:.5rem .75rem;background:var(--card);z-index:1}
        header{display:flex;flex-wrap:wrap;align-items:center;gap:.25rem 1.25rem;padding:.75rem 1.25rem;background:var(--card);border-block-end:1px solid var(--line)}
        nav{display:flex;flex-wrap:wrap;gap:0 1rem;flex:1 1 20rem}
        nav a{display:inline-flex;align-items:center;min-block-size:44px;text-decoration:none;border-block:3px solid transparent}
        nav a:hover{text-decoration:underline}
        nav a[aria-current]{border-block-end-color:currentcolor;font-weight:600}
        .session{display:flex;align-items:center;gap:.75rem;margin-inline-start:auto;color:var(--muted)}
        main{max-inline-size:80rem;margin-inline:auto;padding:1.25rem}
        footer{max-inline-size:80rem;margin-inline:auto;padding:0 1.25rem 1.25rem;color:var(--muted);font-size:.875rem}
        h1{margin:0 0 1rem;font-size:1.5rem;line-height:1.25}
        h2{margin:2rem 0 .5rem;font-size:1.125rem;line-height:1.4}
        p{margin:0 0 1rem;max-inline-size:48rem}
        a{color:var(--link);text-underline-offset:.15em}
        code{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:.875em}
        dl{margin:0 0 1rem;padding:.25rem 1rem;border:1px solid var(--line);border-radius:.5rem;background:var(--card)}
        dl>div{display:grid;grid-template-columns:minmax(8rem,14rem) 1fr;gap:1rem;padding-block:.5rem}
        dl>div+div{border-block-start:1px solid var(--line)}
        dt{color:var(--muted)}
        dd{margin:0}
        time,.badge,button{white-space:nowrap}
        table{inline-size:100%;margin-block-end:1rem;border-collapse:separate;border-spacing:0;overflow:hidden;background:var(--card);border:1px solid var(--line);border-radius:.5rem;font-size:.9375rem;font-variant-numeric:tabular-nums}
        caption{position:absolute;inline-size:1px;block-size:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
        th,td{min-inline-size:5.5rem;padding:.5rem .75rem;text-align:start;vertical-align:top;border-block-end:1px solid var(--line)}
        tbody tr:last-child td{border-block-end:0}
        th{color:var(--muted);font-weight:600;font-size:.875rem;overflow-wrap:normal}
        .dense{table-layout:fixed;font-size:.8125rem;line-height:1.375}
        .dense th,.dense td{min-inline-size:0;padding:.1875rem .5rem;vertical-align:baseline}
        .dense th:first-child{inline-size:10rem}
        .dense th:last-child{inline-size:20.5rem}
        .dense td>div{overflow:hidden;white-space:nowrap;text-overflow:ellipsis}
        .dense tr:hover td>div,.dense tr:focus-within td>div{white-space:normal}
        .dense tr:not(:has(a)) td>div{white-space:normal}
        form{margin:0}
        .form{max-inline-size:32rem;margin-block-end:1rem}
        .search{display:flex;flex-wrap:wrap;align-items:flex-start;gap:.75rem;max-inline-size:60rem}
        .search .field{flex:1 1 14rem;margin:0}
        .search button{margin-block-start:1.75rem}
        .field{margin-block-end:1rem}
        .check{display:flex;align-items:center;gap:.5rem;min-block-size:44px}
        .check label{margin:0}
        .check input{inline-size:1.25rem;min-block-size:1.25rem}
        label{display:block;margin-block-end:.25rem;font-weight:500}
        .hint{margin:.25rem 0 0;color:var(--muted);font-size:.875rem}
        input,select{inline-size:100%;min-block-size:44px;padding:.375rem .625rem;border:1px solid var(--field);border-radius:.375rem;background:var(--card);color:var(--text);font:inherit}
        input[aria-invalid=true]{border-color:var(--bad);box-shadow:0 0 0 1px var(--bad)}
        button{min-block-size:44px;padding:.375rem 1rem;border:1px solid var(--field);border-radius:.375rem;background:var(--card);color:var(--text);font:inherit;font-weight:550;cursor:pointer}
        button:hover{text-decoration:underline}
        .primary{border-color:var(--accent);background:var(--accent);color:var(--on-accent)}
        .danger{border-color:var(--bad);color:var(--bad)}
        .buttons{display:flex;flex-wrap:wrap;gap:.75rem;margin-block-end:1rem}
        td form{display:inline-block;margin:0 .25rem .25rem 0}
        td button{min-block-size:2.25rem;padding:.25rem .75rem;font-size:.875rem}
        .notice{padding:.75rem 1rem;border:1px solid currentcolor;border-radius:.5rem;background:var(--good-card);color:var(--good)}
        .notice.error{background:var(--bad-card);color:var(--bad)}
        .badge{display:inline-block;padding:.0625rem .5rem;border:1px solid var(--line);border-radius:1rem;font-size:.875rem}
        .badge.good{border-color:currentcolor;background:var(--good-card);color:var(--good)}
        .badge.bad{border-color:currentcolor;background:var(--bad-card);color:var(--bad)}
        .empty{color:var(--muted)}
        .plot{display:grid;grid-template:"top chart chart" 1fr "zero chart chart" auto ". from to" auto/auto 1fr 1fr;gap:0 .5rem;margin-block-end:.5rem;color:var(--muted);font-size:.8125rem;font-variant-numeric:tabular-nums}
        .plot>:nth-child(1){grid-area:top;text-align:end}
        .plot>:nth-child(2){grid-area:zero;text-align:end}
        .plot>:nth-child(4){grid-area:from}
        .plot>:nth-child(5){grid-area:to;text-align:end}
        .chart{grid-area:chart;display:block;inline-size:100%;block-size:10rem;background:var(--card);border:1px solid var(--line);border-radius:.5rem}
        .plot+dl dt::before{content:"";display:inline-block;inline-size:.75rem;block-size:.75rem;margin-inline-end:.5rem;background:var(--bar)}
        .plot+dl div:nth-child(2) dt::before{background:var(--bar-refused)}
        .accepted{fill:var(--bar)}
        .refused{fill:var(--bar-refused)}
        .base{stroke:var(--muted)}
        :focus-visible{outline:3px solid var(--link);outline-offset:2px}
        @media (max-width:64rem){thead{position:absolute;inline-size:1px;block-size:1px;overflow:hidden;clip-path:inset(50%)}table,tbody,tr,td{display:block}tr{padding-block:.5rem;border-block-end:1px solid var(--line)}td{display:grid;grid-template-columns:6rem minmax(0,1fr);gap:.75rem;border:0;padding-block:.25rem}td::before{content:attr(data-label);color:var(--muted);font-size:.875rem}td button{min-block-size:44px}time{white-space:normal}.dense td>div{white-space:normal}.dense a{display:inline-block;min-inline-size:24px;min-block-size:24px;line-height:24px}tbody tr:last-child{border-block-end:0}dl>div{grid-template-columns:1fr;gap:0}}
        @media (max-width:40rem){.search .field{flex-basis:100%}.search button{margin-block-start:0}}
        @media (prefers-contrast:more){:root{--line:var(--field);--muted:var(--text)}}
        """
}
