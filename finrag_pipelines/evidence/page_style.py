"""The style sheet of the evidence page: for screen and for paper, with no resource from elsewhere."""

STYLE = """
:root { --ink:#1c2430; --soft:#5b6675; --line:#dfe3e8; --paper:#fff; --ground:#f4f5f7; --accent:#1f4e79;
  --good:#1e6b46; --good-bg:#e7f3ec; --bad:#a3271f; --bad-bg:#fbeae8; --mark:#ffe18a; --edge:#c48a00; }
* { box-sizing:border-box; }
body { margin:0; background:var(--ground); color:var(--ink);
  font:15px/1.55 "Segoe UI",-apple-system,"Helvetica Neue",Arial,"Liberation Sans",sans-serif; }
main { max-width:1240px; margin:0 auto; padding:36px 32px 64px; }
.kicker { text-transform:uppercase; letter-spacing:.09em; font-size:11.5px; color:var(--soft); font-weight:600; }
.kicker code { text-transform:none; letter-spacing:0; font-weight:400; }
h1 { font:600 27px/1.3 Georgia,"Liberation Serif",serif; margin:6px 0 14px; overflow-wrap:anywhere; }
h2 { font:600 19px/1.3 Georgia,"Liberation Serif",serif; margin:44px 0 4px; }
h2 + p { margin:0 0 14px; color:var(--soft); max-width:78ch; }
code,.mono { font:12.5px/1.5 ui-monospace,"SF Mono",Consolas,"Liberation Mono",monospace; overflow-wrap:anywhere; }
.badge { display:inline-block; padding:3px 11px; border-radius:12px; font-weight:600; font-size:13px; }
.badge.good { background:var(--good-bg); color:var(--good); }
.badge.bad { background:var(--bad-bg); color:var(--bad); }
.sheet { background:var(--paper); border:1px solid var(--line); border-radius:8px; }
.facts { display:grid; grid-template-columns:repeat(4,1fr); gap:0; margin:18px 0 0; }
.facts div { padding:11px 16px; border-right:1px solid var(--line); border-bottom:1px solid var(--line); min-width:0; }
.facts div:nth-child(4n) { border-right:0; }
.facts div:nth-last-child(-n+4) { border-bottom:0; }
.facts dt { font-size:11.5px; color:var(--soft); }
.facts dd { margin:1px 0 0; font-weight:500; overflow-wrap:anywhere; }
.proof { margin-top:14px; padding:12px 16px; border-radius:8px; border:1px solid; }
.proof.good { background:var(--good-bg); border-color:#bcdcca; color:#174f35; }
.proof.bad { background:var(--bad-bg); border-color:#efc4c0; color:#7d1d17; }
.proof ul { margin:6px 0 0; padding-left:20px; }
.refusal { padding:20px 22px; border-left:4px solid var(--bad); }
.refusal p { margin:6px 0 0; font-size:17px; }
.claim { display:grid; grid-template-columns:minmax(0,5fr) minmax(0,7fr); gap:26px; padding:22px;
  border-bottom:1px solid var(--line); }
.claim:last-child { border-bottom:0; }
.claim > div:first-child { position:sticky; top:22px; align-self:start; }
.sentence { font:16.5px/1.6 Georgia,"Liberation Serif",serif; margin:0; overflow-wrap:anywhere; }
.verdict { margin:10px 0 0; font-size:12.5px; color:var(--soft); }
.verdict b { color:var(--good); font-weight:600; }
.dropped .sentence { color:var(--soft); text-decoration:line-through; text-decoration-color:#b9c0c9; }
.dropped .verdict b { color:var(--bad); }
a.ref { display:inline-block; min-width:20px; padding:0 5px; border-radius:6px; background:var(--edge); color:#fff;
  font:600 11.5px/19px Arial,"Liberation Sans",sans-serif; text-align:center; text-decoration:none;
  vertical-align:2px; }
.passage { border:1px solid var(--line); border-radius:8px; overflow:hidden; margin:0 0 14px; }
.passage:last-child { margin-bottom:0; }
.passage header { display:flex; gap:10px; align-items:baseline; padding:9px 14px; background:#fafbfc;
  border-bottom:1px solid var(--line); }
.passage header b { font-weight:600; }
.passage header span { color:var(--soft); font-size:13px; }
.context { padding:13px 16px; white-space:pre-line; color:#68717e; font-size:14px; line-height:1.6;
  overflow-wrap:anywhere; }
.context mark { background:var(--mark); color:var(--ink); padding:1px 0; box-decoration-break:clone; }
.passage footer { padding:8px 14px; border-top:1px solid var(--line); color:var(--soft); font-size:12px; }
.passage footer code { font-size:11.5px; }
figure { margin:0; padding:12px 14px; border-top:1px solid var(--line); background:#eceef1; }
figure img { display:block; width:100%; height:auto; background:#fff; border:1px solid #cfd4da; }
figcaption,summary { font-size:12.5px; color:var(--soft); }
figcaption { margin-top:6px; }
summary { cursor:pointer; padding:8px 14px; border-top:1px solid var(--line); }
.tablewrap { overflow-x:auto; padding:12px 16px; }
.tablewrap p { margin:0 0 8px; font-size:13.5px; }
table { border-collapse:collapse; width:100%; font-size:13px; }
th { text-align:left; font-weight:600; color:var(--soft); font-size:11.5px; padding:7px 10px; vertical-align:bottom;
  border-bottom:1px solid #c9d0d8; }
td { padding:6px 10px; border-bottom:1px solid #edf0f3; vertical-align:top; }
tr:last-child td { border-bottom:0; }
td.n,th.n { text-align:right; font-variant-numeric:tabular-nums; white-space:nowrap; }
.tablewrap th.n { white-space:normal; }
tr.quoted td { background:var(--mark); font-weight:600; }
tr.cited td { background:#fff8e1; }
tr.delivered td:first-child { box-shadow:inset 3px 0 0 var(--accent); }
.gap td { color:var(--soft); font-style:italic; font-size:12px; }
.ladder { list-style:none; margin:0; padding:8px 22px 10px; }
.ladder li { position:relative; padding:11px 0 11px 40px; }
.ladder li + li::before { content:""; position:absolute; left:11px; top:-15px; height:27px; width:2px;
  background:var(--line); }
.ladder i { position:absolute; left:0; top:11px; width:24px; height:24px; border-radius:50%; text-align:center;
  font:700 13px/24px Arial,"Liberation Sans",sans-serif; color:#fff; background:#9aa3ae; z-index:1; }
.ladder .passed i { background:var(--good); } .ladder .stopped i { background:var(--bad); }
.ladder b { font-weight:600; } .ladder em { font-style:normal; color:var(--soft); font-size:12.5px; margin-left:8px; }
.ladder span { display:block; color:var(--soft); font-size:13px; overflow-wrap:anywhere; }
.chain { padding:6px 0; }
.chain table td:first-child { width:230px; color:var(--soft); }
.chain td { padding:7px 18px; }
pre { margin:0; padding:14px 18px; white-space:pre-wrap; }
.end { margin-top:34px; color:var(--soft); font-size:12.5px; }
@media (max-width:860px) { .claim { grid-template-columns:1fr; } .facts { grid-template-columns:repeat(2,1fr); }
  .facts div { border-right:0; } main { padding:22px 14px; } }
@media print { body { background:#fff; font-size:11.5pt; } main { max-width:none; padding:0; }
  .sheet { border-color:#bbb; } .passage,.ladder li,tr { break-inside:avoid; } h2 { break-after:avoid; }
  .context mark,a.ref,.badge,tr.quoted td,.ladder i,.proof { print-color-adjust:exact; } details { display:none; } }
"""
