"""Credentials that never were: each of the shape that its issuer documents, put together here so that none stands in
a file of the project."""

import base64
import hashlib
import string

ALNUM = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
UPPER = string.ascii_uppercase + string.digits


def made(length: int, alphabet: str = ALNUM, seed: str = "seed") -> str:
    """Text that looks random and is the same each time."""
    out, number = "", 0
    while len(out) < length:
        out += "".join(alphabet[byte % len(alphabet)] for byte in hashlib.sha256(f"{seed}{number}".encode()).digest())
        number += 1
    return out[:length]


def pem(kind: str, body: str = "") -> str:
    lines = body or "\n".join(made(64, ALNUM + "+/", f"{kind}{number}") for number in range(6))
    return f"-----BEGIN {kind}-----\n{lines}\n-----END {kind}-----"


def b64(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


JWT = f"{b64('{' + chr(34) + 'alg' + chr(34) + ':1}')}.{b64('{' + chr(34) + 'sub' + chr(34) + ':77}')}.{made(43)}"

#: Kind of credential → texts that hold one.
POSITIVES: dict[str, list[str]] = {
    "rsa": [pem("RSA PRIVATE KEY"), pem("PRIVATE KEY").replace("\n", "\\n")],
    "openssh": [pem("OPENSSH PRIVATE KEY"), "  " + pem("EC PRIVATE KEY").replace("\n", "\n  ")],
    "encrypted key": [
        pem("ENCRYPTED PRIVATE KEY"),
        pem("RSA PRIVATE KEY", f"Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,{made(32, HEX)}\n\n{made(64)}"),
    ],
    "pgp": [pem("PGP PRIVATE KEY BLOCK", f"Version: GnuPG v2\n\n{made(64)}\n{made(64, seed='x')}\n=ab1C")],
    "putty": [f"PuTTY-User-Key-File-3: ssh-rsa\nPrivate-Lines: 2\n{made(64)}\n{made(40)}"],
    "age": ["AGE-SECRET-KEY-1" + made(58, UPPER)],
    "github": [f"{kind}_{made(36, seed=kind)}" for kind in ("ghp", "gho", "ghu", "ghs", "ghr")] + ["ghp_" + "b" * 36],
    "github fine": [f"github_pat_{made(22)}_{made(59)}"],
    "gitlab": ["glpat-" + made(20), "token glrt-" + made(20)],
    "atlassian": ["ATATT3xFfGF0" + made(180, ALNUM + "_-"), "ATBB" + made(32)],
    "npm": ["//registry.example.org/:_authToken=npm_" + made(36)],
    "pypi": ["pypi-AgEIcHlwaS5vcmc" + made(120, ALNUM + "-_")],
    "rubygems": ["rubygems_" + made(48, HEX)],
    "docker": ["dckr_pat_" + made(27)],
    "aws id": ["AKIA" + made(16, UPPER), "`ASIA" + made(16, UPPER) + "`"],
    "aws secret": [f"aws_secret_access_key = {made(40, ALNUM + '/+')}", f'"SecretAccessKey": "{made(40)}"'],
    "google": ["AIza" + made(35, ALNUM + "_-"), "GOCSPX-" + made(28), "ya29.a0" + made(120, ALNUM + "_-")],
    "azure": [
        f"DefaultEndpointsProtocol=https;AccountName=kim;AccountKey={made(86, ALNUM + '+/')}==;EndpointSuffix=x",
        f"client: {made(3)}8Q~{made(34, ALNUM + '_~.-')}",
        f"https://kim.blob.core.windows.net/c?sv=2022-11-02&sig={made(43)}%3D",
    ],
    "digitalocean": ["dop_v1_" + made(64, HEX)],
    "heroku": ["HRKU-" + made(36, HEX)],
    "databricks": ["dapi" + made(32, HEX)],
    "vault": ["hvs." + made(90, ALNUM + "_-")],
    "terraform": [f"{made(14)}.atlasv1.{made(67)}"],
    "doppler": ["dp.pt." + made(43)],
    "tailscale": ["tskey-auth-" + made(12) + "-" + made(24)],
    "supabase": ["sbp_" + made(40, HEX)],
    "anthropic": ["sk-ant-api03-" + made(95, ALNUM + "_-")],
    "openai": ["sk-proj-" + made(100, ALNUM + "_-"), "sk-" + made(48), "OPENAI=sk-" + "c" * 48],
    "openrouter": ["sk-or-v1-" + made(64, HEX)],
    "hugging face": ["hf_" + made(34)],
    "groq": ["gsk_" + made(52)],
    "replicate": ["r8_" + made(37)],
    "slack": ["xoxb-1234567890-1234567890123-" + made(24), "xoxp-1-2-3-" + made(32), "xapp-1-A1-2-" + made(64, HEX)],
    "slack webhook": ["https://hooks.slack.com/services/T" + made(8, UPPER) + "/B" + made(8, UPPER) + "/" + made(24)],
    "discord": [
        f"https://discord.com/api/webhooks/{made(18, string.digits)}/{made(68, ALNUM + '_-')}",
        f"MTE{made(21)}.{made(6)}.{made(38)}",
    ],
    "telegram": [f"{made(10, '123456789')}:AA{made(33, ALNUM + '_-')}"],
    "sendgrid": [f"SG.{made(22)}.{made(43)}"],
    "mailgun": ["key-" + made(32, HEX)],
    "mailchimp": [made(32, HEX) + "-us12"],
    "twilio": ["SK" + made(32, HEX)],
    "stripe": ["sk_live_" + made(24), "rk_test_" + made(24), "whsec_" + made(32)],
    "shopify": ["shpat_" + made(32, HEX)],
    "square": ["sq0csp-" + made(43, ALNUM + "_-")],
    "notion": ["ntn_" + made(46), "secret_" + made(43)],
    "linear": ["lin_api_" + made(40)],
    "figma": ["figd_" + made(40, ALNUM + "_-")],
    "airtable": [f"pat{made(14)}.{made(64, HEX)}"],
    "grafana": [f"glsa_{made(32)}_{made(8, HEX)}"],
    "sentry": ["sntryu_" + made(64, HEX)],
    "new relic": ["NRAK-" + made(27, UPPER)],
    "postman": [f"PMAK-{made(24, HEX)}-{made(34, HEX)}"],
    "mapbox": [f"sk.eyJ{made(60)}.{made(22)}"],
    "jwt": [JWT, f"Authorization: Bearer {JWT}"],
    "url": [
        "postgres://app:hunter2-fake@db.example.com/x",
        "mongodb+srv://kim:S0mmar-natt@cluster0.example.net/?retryWrites=true",
        "redis://:f00dcafe@localhost:6379/0",
        "https://kim:tr0ub4dor@git.example.org/notes.git",
        "amqp://svc:p@ss:w0rd@mq.example.org",
        "jdbc:mysql://db.example.org/x?user=app&password=blueberry",
        "Server=db;Database=x;User Id=app;Password=blueberry;",
    ],
    "header": [f"Authorization: Basic {b64('kim:correct-horse')}", f"authorization: bearer {made(32)}"],
    "netrc": ["machine git.example.org login kim password blueberry"],
    "assigned": [
        'password = "hunter2-fake"',
        "DB_PASSWORD=Sommar2024!",
        "- **api key**: " + made(32),
        f"client_secret: {made(32)}",
        f'"access_token": "{made(40)}"',
    ],
}


def _ids() -> list[str]:
    """What programs write that is no secret: ids and checksums."""
    found = []
    for number in range(12):
        seed = f"id{number}"
        sha1, sha256 = made(40, HEX, seed), made(64, HEX, seed)
        uuid = "-".join(made(size, HEX, seed + str(size)) for size in (8, 4, 4, 4, 12))
        found += [
            sha1,
            f"Commit {sha1[:10]} fixed it.",
            f"sha256:{sha256}",
            f"checksum {sha256}  notes.tar.gz",
            f"integrity: sha512-{made(86, ALNUM + '+/', seed)}==",
            uuid,
            f"token: {uuid}",
            f"request id {uuid}, session {uuid}",
            "01" + made(24, "0123456789ABCDEFGHJKMNPQRSTVWXYZ", seed),
            f"run {made(12, HEX, seed)} of 2026-03-15T08:15:00Z",
            f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{made(43, ALNUM + '+/', seed)} kim@host",
            f"https://example.com/{made(22, ALNUM, seed)}/edit?usp=sharing",
        ]
    return found


NEGATIVES: list[str] = [
    *_ids(),
    "The word password appears here, nothing secret.",
    "The password: ask Kim. Token budget: 500. See https://example.com:8080/a@b and sk-learn, a-b-c.",
    "Password: it is in 1Password",
    "password: 1Password",
    "password: see docs/auth2024/passwords.md",
    "password: <password>",
    "password = os.environ['DB_PASSWORD1']",
    'password = getenv("DB_PASSWORD1")',
    "PASSWORD=${DB_PASSWORD_2024}",
    "Passwords expire after 90 days, tokens after 12 h.",
    "The secret: start early.",
    "The secret of good bread is time: 24 hours.",
    "Her secret: 250 g butter",
    "Token: ~2034 tokens",
    "_Estimated tokens: ~723_",
    "token: string | None = None",
    "Max tokens = 128000",
    "token limit: 200k",
    "The API key: ask in #infra",
    "api_key: YOUR_API_KEY_HERE_123",
    "api_key = <your-api-key-2024>",
    "Keys: house, bicycle, boathouse",
    "primary key: user_id_2024_partition",
    "foreign key = customers_2024_old.id",
    "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "ghp_… or github_pat_…",
    "A token starts with ghp_ and has 40 characters.",
    "AKIAIOSFODNN7EXAMPLE",
    "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "AKIA is how AWS key ids begin",
    "sk-your-api-key-goes-right-here-please",
    "export OPENAI_API_KEY=sk-...",
    "export TOKEN=$(cat ~/.token)",
    "sk-learn and scikit-learn",
    "task-management-system-for-the-whole-family-2024",
    "desk-ant-colony-simulation-with-many-parts-2024",
    "xoxb-your-token",
    "hf_hub_download(repo_id='org/model', filename='weights.safetensors')",
    "npm_config_registry and npm_lifecycle_event",
    "postgres://user:password@localhost/db",
    "postgres://user:pass@host:5432/db",
    "postgres://postgres:postgres@localhost:5432/postgres",
    "postgres://$USER:$PASSWORD@localhost/db",
    "postgres://app:${DB_PASSWORD}@db/x",
    "mysql://user:<password>@host",
    "mysql://user:{password}@host",
    "redis://localhost:6379/0",
    "https://user:xxxxx@example.com",
    "https://user:*****@example.com",
    "http://localhost:8080/@scope/package",
    "https://example.com:443/path?a=b&c=d",
    "ssh://git@github.com:22/kim/notes.git",
    "git@github.com:kim/notes.git",
    "mailto:kim@example.com",
    "see https://example.org/a:b@c for the syntax",
    "https://medium.com/@kim/why-i-write-3f2a9c0d1e4b",
    "[x](https://example.com/?token=abc)",
    "?password=changeme",
    "Server=db;Database=x;User Id=app;Password=<secret>;",
    "Authorization: Bearer <token>",
    "Authorization: Bearer $TOKEN",
    "Authorization: Bearer YOUR_ACCESS_TOKEN_HERE",
    "The header Authorization: Basic is enough.",
    "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA\n-----END PUBLIC KEY-----",
    "-----BEGIN CERTIFICATE-----\nMIIDXTCCAkWgAwIBAgIJAKHBfpegvZzYMA0GCSqGSIb3\n-----END CERTIFICATE-----",
    "A file that begins with -----BEGIN PRIVATE KEY----- must not be committed.",
    "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
    "/usr/lib/python3.11/site-packages/cryptography/hazmat/primitives/asymmetric/rsa.py",
    "/home/kim/.config/systemd/user/bonsai-3f2a9c0d1e4b.service",
    "memory/domains/infrastructure/infrastructure-and-services__DELETE.md",
    "C:\\Users\\Kim\\AppData\\Local\\Programs\\Python\\Python311\\python.exe",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
    "密码:请问小王。口令不在这里。",
    "パスワード: 田中さんに聞く。トークンは500まで。",
    "비밀번호: 김에게 물어보세요",
    "пароль: спроси Кима",
    "密码 password: 见保险箱 2024",
    "The wifi password is on the fridge.",
    "El token dura 24 h; la contraseña, 90 días.",
    "password-reset-flow-2024.md",
    "| password | min. 12 characters | rotated 2024 |",
    "`--token-file /run/secrets/ci-token-2024`",
    "passwd: files systemd",
    "PWD=/home/kim/notes2024",
    "token_type: bearer",
    "tokenizer = cl100k_base_2024",
    "MTB trail, NT kernel, ODBC driver, Nz dollar",
    "eyJ is how a JSON web token begins",
    "pattern.compile and path.join",
    "1234567890:AB",
    "v1.2.3-beta.4+build.5678",
    "0x742d35Cc6634C0532925a3b844Bc454e4438f44e",
    "+46 31 123 45 67, org.nr 556677-8899, IBAN SE35 5000 0000 0549 1000 0003",
    "2026-03-15T08:15:00.123456789Z",
    "Bonsai-Run: 6619a23ca830",
    "keyring, keyboard, monkey, key-value",
]
