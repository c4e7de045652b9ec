"""The shapes of credentials, as their issuers document them: one table of anchored patterns.

A pattern is tried only on a text that holds one of its hints. It begins at a boundary and every repeat in it has an
end, so that a search takes time by the length of the text alone. Its last group, where it has one, is the secret.
"""

from typing import NamedTuple

_WORD = r"(?<![A-Za-z0-9])"

SHORTEST = 16  # characters of the shortest word (up to white space) that holds a credential with a shape of its own


class Rule(NamedTuple):
    """One kind of credential."""

    kind: str
    hints: tuple[str, ...]  # one of them is in every text that the pattern matches; of a loose rule in lower case
    pattern: str
    weak: bool = False  # the value has no shape of its own: words like `password` in its place are none
    loose: bool = False  # its hint may stand in a short word, apart from the secret
    alone: bool = False  # a match that begins inside a word is none


def _token(kind: str, body: str, *prefixes: str) -> Rule:
    """A token that begins with a word of its issuer."""
    # No look-behind in front: with a plain string there a search is ten times as fast.
    hints = tuple(dict.fromkeys(prefix[:3] for prefix in prefixes))  # few and shared: each is looked for in each note
    return Rule(kind, hints, f"(?:{'|'.join(prefixes).replace('.', '[.]')}){body}", alone=True)


def _assigned(names: str, value: str) -> str:
    """`NAME = value`, `"name": "value"`, `name: value`. `names` begins with one of few letters: a search skips most."""
    return rf"{names}[\"'`*]{{0,3}}[ \t]{{0,3}}(?::=|=>|[:=])[ \t]{{0,3}}[\"'`*]{{0,3}}{value}(?=[\"'`*;,&|\s]|\Z)"


_GAP = r"(?:[\s>|]|\\[nr]){1,40}"
_EOL = r"[ \t>|]{0,8}(?:\r?\n|\\r|\\n){1,4}[ \t>|]{0,8}"
_LAST = (  # a shorter line, where it is plain that the key ends with it and not the text around it begins
    r"[A-Za-z0-9+/]{0,22}={1,2}(?!\w)|=[A-Za-z0-9+/]{4}"
    rf"|[A-Za-z0-9+/]{{1,23}}(?={_EOL}(?:-----END|Private-MAC|=))"
)
_KEY = rf"([A-Za-z0-9+/=]{{16,9000}}(?:{_EOL}(?:[A-Za-z0-9+/=]{{24,9000}}|{_LAST})){{0,500}})"
_KEY_NAME = (  # the name stands in front of the rare letter
    "[kK](?i:ey)(?:(?<=(?i:api|web)[ _-]...)|(?<=(?i:apikey))|(?<=(?i:access|secret|master)[ _-]...)"
    "|(?<=(?i:accesskey|secretkey))|(?<=(?i:auth)[ _-]...)|(?<=(?i:private|signing|session)[ _-]...))"
)
_MIXED = r"(?=\S{0,80}[0-9])(?=\S{0,80}[A-Za-z])"
_NOT_AN_ID = r"(?![0-9a-fA-F]{8}-[0-9a-fA-F]{4}-|v?\d{1,4}\.\d|\d{4}-\d\d|(?i:1password|sha-?\d|oauth|https?:))"

RULES: tuple[Rule, ...] = (
    Rule(
        "private key",
        ("key",),
        r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
        rf"{_GAP}(?:[A-Z][A-Za-z-]{{1,30}}: [^\n\\]{{0,200}}{_GAP}){{0,5}}{_KEY}",
        loose=True,
    ),
    Rule("PuTTY private key", ("key",), rf"Private-Lines: \d{{1,4}}{_EOL}{_KEY}", loose=True),
    _token("age secret key", "[A-Z0-9]{50,70}", "AGE-SECRET-KEY-1"),
    # -- code and packages
    _token("GitHub token", "[A-Za-z0-9]{30,255}", "ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
    _token("GitHub fine-grained token", r"\w{40,255}", "github_pat_"),
    _token(
        "GitLab token", r"[\w.-]{18,300}", "glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glimt-", "gloas-"
    ),
    _token("Atlassian token", r"[\w=-]{28,300}", "ATBB", "ATCTT3", "ATATT3"),
    _token("npm token", "[A-Za-z0-9]{30,60}", "npm_"),
    _token("PyPI token", r"[\w-]{40,300}", "pypi-AgE"),
    _token("RubyGems token", "[0-9a-f]{40,64}", "rubygems_"),
    _token("Docker token", r"[\w-]{20,60}", "dckr_pat_", "dckr_oat_"),
    # -- clouds
    _token("AWS access key", r"[A-Z0-9]{16}(?![A-Za-z0-9])", "AKIA", "ASIA", "ABIA", "ACCA"),
    Rule("AWS secret key", ("secret",), _assigned(_KEY_NAME, "([A-Za-z0-9/+]{40})"), loose=True),
    _token("Google API key", r"[\w-]{33,39}(?![\w-])", "AIza"),
    _token("Google OAuth secret", r"[\w-]{20,40}", "GOCSPX-"),
    _token("Google OAuth token", r"[\w-]{20,500}", "ya29."),
    Rule(
        "Azure storage key",
        ("AccountKey=", "SharedAccessKey="),
        r"(?:Account|SharedAccess)Key=([A-Za-z0-9+/]{40,100}={0,2})",
    ),
    Rule("Azure client secret", ("Q~",), rf"{_WORD}[\w~.-]{{3}}\dQ~[\w~.-]{{31,36}}(?![\w~-])"),
    Rule("Azure signature", ("sig=",), r"[?&]sig=([A-Za-z0-9%+/]{40,120}(?:%3D|=){1,2})"),
    _token("DigitalOcean token", "[0-9a-f]{60,70}", "dop_v1_", "doo_v1_", "dor_v1_"),
    _token("Heroku token", r"[\w-]{36,80}", "HRKU-"),
    _token("Fly.io token", r"[\w+/=,-]{40,1000}", "fo1_", "fm1_", "fm2_"),
    _token("Netlify token", "[A-Za-z0-9]{32,60}", "nfp_"),
    _token("Alibaba access key", "[A-Za-z0-9]{14,24}(?![A-Za-z0-9])", "LTAI"),
    _token("Tencent access key", "[A-Za-z0-9]{30,36}(?![A-Za-z0-9])", "AKID"),
    _token("Pulumi token", "[0-9a-f]{36,64}", "pul-"),
    _token("HashiCorp Vault token", r"[\w-]{22,300}", "hvs.", "hvb.", "hvr."),
    Rule("Terraform token", (".atlasv1.",), rf"{_WORD}[A-Za-z0-9]{{14}}\.atlasv1\.[\w=-]{{50,80}}"),
    _token("Doppler token", r"[\w.-]{36,80}", "dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."),
    _token("Tailscale key", r"[\w-]{18,100}", "tskey-auth-", "tskey-api-", "tskey-client-"),
    _token("Databricks token", r"[0-9a-f]{30,40}(?:-\d)?(?![0-9a-zA-Z])", "dapi"),
    _token("PlanetScale password", r"[\w.=-]{30,80}", "pscale_tkn_", "pscale_pw_", "pscale_oauth_"),
    _token("Supabase token", r"[\w-]{30,60}", "sbp_", "sb_secret_"),
    # -- models
    _token("Anthropic key", r"[\w-]{20,200}", "sk-ant-"),
    _token("OpenAI key", r"[\w-]{20,250}", "sk-proj-", "sk-svcacct-", "sk-admin-"),
    _token("OpenRouter key", "[0-9a-f]{40,80}", "sk-or-v1-"),
    _token("API key", r"[A-Za-z0-9]{32,200}(?![\w-])", "sk-"),
    _token("Hugging Face token", "[A-Za-z0-9]{30,60}", "hf_", "api_org_"),
    _token("Replicate token", "[A-Za-z0-9]{34,50}", "r8_"),
    _token("Groq key", "[A-Za-z0-9]{40,80}", "gsk_"),
    _token("xAI key", "[A-Za-z0-9]{50,100}", "xai-"),
    _token("Perplexity key", "[A-Za-z0-9]{40,80}", "pplx-"),
    # -- messages and mail
    _token(
        "Slack token", r"[A-Za-z0-9-]{10,300}", "xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxo-", "xoxe-", "xapp-"
    ),
    _token("Slack token", r"[A-Za-z0-9-]{10,300}", "xoxe.xoxp-", "xoxe.xoxb-"),
    Rule("Slack webhook", ("hooks.slack.com/",), r"hooks\.slack\.com/(?:services|workflows|triggers)/([\w/]{20,120})"),
    Rule("Discord webhook", ("/api/webhooks/",), r"/api/webhooks/\d{15,22}/([\w-]{40,120})"),
    Rule(
        "Discord token",  # begins with the digits of the bot's id in base64
        ("MT", "Mj", "Mz", "ND", "NT", "Nj", "Nz", "OD", "OT", "iscord", "ISCORD"),
        r"[MNO](?<![\w-][MNO])[\w-]{22,27}\.[\w-]{6}\.[\w-]{27,42}(?![\w-])",
    ),
    Rule("Teams webhook", (".webhook.office.com/",), r"\.webhook\.office\.com/webhookb2/([\w@/-]{60,250})"),
    Rule("Telegram bot token", (":AA",), rf"{_WORD}\d{{8,10}}:AA[\w-]{{32,34}}(?![\w-])"),
    Rule("SendGrid key", ("SG.",), rf"{_WORD}SG\.[\w-]{{16,32}}\.[\w-]{{16,64}}"),
    _token("Mailgun key", r"[0-9a-f]{32}(?:-[0-9a-f]{8}-[0-9a-f]{8})?(?![\w-])", "key-"),
    Rule("Mailchimp key", ("-us",), rf"{_WORD}[0-9a-f]{{32}}-us\d{{1,2}}(?!\w)"),
    _token("Brevo key", r"[0-9a-f]{64}-[A-Za-z0-9]{16}", "xkeysib-"),
    _token("Twilio key", r"[0-9a-f]{32}(?![0-9a-zA-Z])", "SK"),
    # -- money
    _token("Stripe key", "[A-Za-z0-9]{16,250}", "sk_live_", "sk_test_", "rk_live_", "rk_test_", "sk_org_"),
    _token("Stripe webhook secret", "[A-Za-z0-9+/=]{24,100}", "whsec_"),
    _token("Shopify token", "[0-9a-fA-F]{32}", "shpat_", "shpca_", "shppa_", "shpss_"),
    _token("Square token", r"[\w-]{20,60}", "sq0atp-", "sq0csp-", "sq0idp-"),
    _token("Facebook token", "[A-Za-z0-9]{80,400}", "EAA"),
    # -- tools
    _token("Notion token", "[A-Za-z0-9]{40,60}", "ntn_", "secret_"),
    _token("Linear key", "[A-Za-z0-9]{32,60}", "lin_api_", "lin_oauth_"),
    _token("Figma token", r"[\w-]{36,60}", "figd_"),
    _token("Airtable token", r"[A-Za-z0-9]{14}\.[0-9a-f]{64}", "pat"),
    _token("Grafana token", r"[\w=+/-]{32,400}", "glsa_", "glc_eyJ"),
    _token("Sentry token", r"[\w=+/-]{40,400}", "sntrys_", "sntryu_"),
    _token("New Relic key", "[A-Z0-9]{24,40}", "NRAK-"),
    _token("Postman key", r"[0-9a-f]{24}-[0-9a-f]{32,36}", "PMAK-"),
    _token("Dropbox token", r"[\w-]{100,1500}", "sl."),
    _token("Mapbox token", r"[\w-]{20,300}\.[\w-]{10,60}", "sk.eyJ"),
    _token("1Password token", r"[\w-]{60,2000}", "ops_eyJ"),
    _token("Contentful token", r"[\w-]{40,60}", "CFPAT-"),
    # -- anybody's
    Rule("JSON web token", ("eyJ",), r"eyJ(?<![\w-]eyJ)[\w-]{8,2000}\.eyJ[\w-]{8,4000}\.[\w-]{8,1000}"),
    Rule(
        "connection string",
        ("://",),
        r"://(?P<user>[^\s/@:\"'<>`|]{0,100}):([^\s/\"'<>`|]{1,200})@(?=[\w\[.%-])",
        weak=True,
        loose=True,
    ),
    Rule(
        "connection string",
        ("pass", "pwd"),
        r"[;?&][ ]?(?i:password|pwd)=([^\s;&\"'`<>)]{4,200})",
        weak=True,
        loose=True,
    ),
    Rule(
        "authorization header",
        ("authorization",),
        r"[aA](?i:uthorization)[\"']?[ ]{0,2}[:=][ ]{0,2}[\"']?(?i:bearer|basic|token)[ ]{1,3}"
        r"([A-Za-z0-9+/=._~-]{16,2000})",
        weak=True,
        loose=True,
    ),
    Rule(
        "netrc password",
        ("pass",),
        r"machine \S{1,100}\s{1,9}login \S{1,100}\s{1,9}password (\S{4,200})",
        weak=True,
        loose=True,
    ),
    Rule(
        "password",
        ("pass", "pwd"),
        _assigned(
            "[pP_](?i:assword|asswd|assphrase|wd|pass)",
            rf"{_NOT_AN_ID}{_MIXED}([^\s\"'`<>(){{}}\[\],;|/]{{8,100}})",
        ),
        weak=True,
        loose=True,
    ),
    Rule(
        "API key",
        ("key",),
        _assigned(_KEY_NAME, rf"{_NOT_AN_ID}{_MIXED}([\w.+=~!@#$%^&*?-]{{12,300}})"),
        weak=True,
        loose=True,
    ),
    Rule(
        "token",
        ("token", "secret"),
        _assigned(
            "[tTsS](?i:oken|ecret)",
            rf"{_NOT_AN_ID}(?:(?=\S{{0,80}}[0-9])(?=\S{{0,80}}[A-Z])(?=\S{{0,80}}[a-z])|(?=[0-9a-f]{{32}}))"
            r"([\w.+=~/-]{20,300})",
        ),
        weak=True,
        loose=True,
    ),
)
